#include "treadle/export/File.h"

#include "treadle/export/GraphDef.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace treadle {
namespace {

Expected<std::string> render(mlir::ModuleOp module, llvm::StringRef path) {
  if (path.ends_with(".pb"))
    return exportGraphDefBytes(module);
  if (path.ends_with(".pbtxt"))
    return exportGraphDefText(module);
  if (!path.ends_with(".mlir"))
    return Unexpected(
        invalidArgument("'", path.str(), "' names no format; end it in .pb, .pbtxt or .mlir"));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

} // namespace

Expected<void> exportFile(mlir::ModuleOp module, const std::string &path) {
  Expected<std::string> content = render(module, path);
  if (!content)
    return Unexpected(std::move(content.error()));
  // Written beside its place, then moved there: readers see the old file or the new one.
  auto file = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp");
  if (!file)
    return Unexpected(
        unavailable("'", path, "' can't be written: ", llvm::toString(file.takeError())));
  llvm::raw_fd_ostream out(file->FD, /*shouldClose=*/false);
  out << *content;
  out.flush();
  if (out.has_error()) {
    std::string why = out.error().message();
    out.clear_error();
    llvm::consumeError(file->discard());
    return Unexpected(unavailable("'", path, "' can't be written: ", why));
  }
  if (llvm::Error kept = file->keep(path))
    return Unexpected(
        unavailable("'", path, "' can't be written: ", llvm::toString(std::move(kept))));
  return {};
}

} // namespace treadle
