// Whole files: reading, writing and glob patterns; and Timestamp.
#include "treadle/checkpoint/Files.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/TextInput.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fnmatch.h>

namespace treadle {
namespace {

namespace fs = std::filesystem;

// --- ReadFile, WriteFile -------------------------------------------------------------------------

void readFile(OpContext &ctx) {
  const std::string *path = TREADLE_OR_RETURN(textInput(ctx, 0, "filename"));
  if (Expected<void> allowed = filesOf(ctx).mayRead(*path); !allowed)
    return ctx.fail(std::move(allowed.error()));
  std::error_code error;
  if (fs::is_directory(*path, error) || error == std::errc::not_a_directory)
    return ctx.fail(failedPrecondition("'", *path, "' is a folder, or within a file"));
  if (auto contents = ctx.check(readWholeFile(*path, filesOf(ctx))))
    ctx.setOutput(0, Tensor::scalarString(std::move(*contents)));
}

void writeFile(OpContext &ctx) {
  const std::string *path = textInput(ctx, 0, "filename");
  const std::string *contents = TREADLE_OR_RETURN(path ? textInput(ctx, 1, "contents") : nullptr);
  auto file = TREADLE_OR_RETURN(ctx.check(OutputFile::create(*path, filesOf(ctx))));
  Expected<void> done = file.append(*contents);
  if (done)
    done = file.commit();
  if (!done)
    ctx.fail(std::move(done.error()));
}

// --- MatchingFiles -------------------------------------------------------------------------------

bool hasWildcard(std::string_view text) { return text.find_first_of("*?[\\") != text.npos; }

/// Expands a glob pattern, in folders that may be listed.
struct FileSearch {
  const FileAccess &files;
  fs::path::iterator end; // end of the pattern
  bool isLiteral;
  std::vector<std::string> &found;

  // Matches a path component by component. A path may end with a slash only if it has no wildcards:
  // elsewhere the empty component is skipped.
  Expected<void> lookIn(const fs::path &folder, fs::path::iterator part) const {
    std::error_code ignored;
    if (part == end || (part->empty() && std::next(part) == end && !isLiteral)) {
      if (!files.mayList(folder)) // an outward link is found but not followed
        TREADLE_TRY(files.mayList(folder.parent_path()));
      if (fs::exists(fs::symlink_status(folder, ignored)))
        found.push_back(folder.string());
      return {};
    }
    std::string pattern = part->string();
    auto next = std::next(part);
    if (!hasWildcard(pattern))
      return lookIn(folder / *part, next);
    TREADLE_TRY(files.mayList(folder));
    for (const auto &entry : fs::directory_iterator(folder, ignored)) {
      std::string name = entry.path().filename().string();
      if (fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0)
        TREADLE_TRY(lookIn(folder / name, next));
    }
    return {};
  }
};

void matchingFiles(OpContext &ctx) {
  const Tensor &patterns = ctx.input(0);
  if (patterns.rank() > 1)
    return ctx.fail(invalidArgument("pattern must be a scalar or a vector, but it is ",
                                    tensorTypeText(patterns)));
  std::vector<std::string> found;
  for (const std::string &text : patterns.values<std::string>()) {
    fs::path pattern(text);
    bool startsHere = !pattern.empty() && hasWildcard(pattern.begin()->string());
    FileSearch search{filesOf(ctx), pattern.end(), !hasWildcard(text), found};
    Expected<void> looked = search.lookIn(startsHere ? "." : "", pattern.begin());
    if (!looked)
      return ctx.fail(std::move(looked.error()));
  }
  std::ranges::sort(found);
  if (Tensor *out = ctx.allocateOutput(0, DType::String, {std::ssize(found)}))
    std::ranges::move(found, out->data<std::string>());
}

// --- Timestamp -----------------------------------------------------------------------------------

void timestamp(OpContext &ctx) {
  if (!ctx.run().mayReadClock)
    return ctx.fail(
        permissionDenied("reading the time of day is not allowed; --allow-clock allows it"));
  std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  ctx.setOutput(0, Tensor::scalar(DType::Float64, now.count()));
}

const KernelEntry fileTable[] = {
    {"ReadFile", bindPlain<readFile>},
    {"WriteFile", bindPlain<writeFile>},
    {"MatchingFiles", bindPlain<matchingFiles>},
    {"Timestamp", bindPlain<timestamp>},
};

} // namespace

std::span<const KernelEntry> fileKernels() { return fileTable; }

} // namespace treadle
