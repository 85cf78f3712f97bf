// One libFuzzer target for each reader, in one program: `readers_fuzzer --reader=npy FOLDER`.
// Options beyond libFuzzer's: --list prints the names of the readers, --seeds=FOLDER writes a
// reader's seeds.
#include "fuzz/readers/Readers.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace treadle::fuzz;

namespace {

const Reader *chosen = nullptr;

void writeSeeds(const std::filesystem::path &folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string &seed : chosen->seeds())
    std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed;
}

[[noreturn]] void list() {
  for (const Reader &reader : allReaders())
    std::printf("%s\n", std::string(reader.name).c_str());
  std::exit(0);
}

/// Removes an option of this program from the arguments.
bool take(std::string_view arg) {
  constexpr std::string_view readerOption = "--reader=", seedsOption = "--seeds=";
  if (arg == "--list")
    list();
  if (arg.starts_with(readerOption)) {
    chosen = findReader(arg.substr(readerOption.size()));
  } else if (arg.starts_with(seedsOption) && chosen) {
    writeSeeds(arg.substr(seedsOption.size()));
    std::exit(0);
  } else {
    return false;
  }
  return true;
}

} // namespace

// MLIR's libraries aren't instrumented, so memory that they poison isn't meaningful. Too large an
// allocation gives an error, as it does without the sanitizer.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_leaks=0:allocator_may_return_null=1";
}

// libFuzzer determines the names. NOLINTBEGIN(readability-identifier-naming)
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  int kept = 1;
  for (int i = 1; i < *argc; ++i)
    if (!take((*argv)[i]))
      (*argv)[kept++] = (*argv)[i];
  *argc = kept;
  if (!chosen) {
    std::fprintf(stderr,
                 "readers_fuzzer: --reader=NAME is missing or unknown; --list names them\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chosen->read({reinterpret_cast<const char *>(data), size});
  return 0;
}
// NOLINTEND(readability-identifier-naming)
