// Location of the command relative to the library: `bin/treadle` within the package in a wheel,
// `bin` beside `lib` when installed, `library` or `bin` in a build.
#include "treadle/sandbox/ChildProcess.h"

#include <filesystem>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr const char *name = "treadle";

/// Returns the file that contains this code: libtreadle or a program.
fs::path ownFile() {
  Dl_info info{};
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  // A program's path may be relative to the folder where it was started.
  if (!dladdr(reinterpret_cast<const void *>(&sandboxProgram), &info) || !info.dli_fname ||
      !fs::path(info.dli_fname).has_parent_path() || fs::equivalent(info.dli_fname, program, error))
    return program;
  return fs::weakly_canonical(info.dli_fname, error);
}

std::vector<fs::path> places(const fs::path &own) {
  fs::path folder = own.parent_path(), above = folder.parent_path();
  return {own,
          folder / name,
          folder / "bin" / name,
          above / "library" / name,
          above / "bin" / name,
          above.parent_path() / "bin" / name};
}

} // namespace

Expected<std::string> sandboxProgram() {
  std::string tried;
  for (const fs::path &place : places(ownFile())) {
    std::error_code error;
    bool isProgram = place.filename() == name && fs::is_regular_file(place, error);
    if (isProgram && access(place.c_str(), X_OK) == 0)
      return place.string();
    if (place.filename() == name)
      tried += str(tried.empty() ? "" : ", ", place.string());
  }
  return Unexpected(failedPrecondition(
      "a sandbox requires the program 'treadle' of this library, which is missing: looked for ",
      tried));
}

} // namespace treadle::sandbox
