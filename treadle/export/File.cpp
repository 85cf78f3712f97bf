#include "treadle/export/File.h"

#include "treadle/export/GraphDef.h"
#include "treadle/export/SavedModel.h"
#include "treadle/import/File.h"
#include "treadle/import/Keywords.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
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
        invalidArgument("'", path.str(),
                        "' names no format; end it in .pb, .pbtxt or .mlir (a folder is for "
                        "SavedModels)"));
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

std::error_code write(int descriptor, llvm::StringRef content) {
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << content;
  out.close();
  std::error_code failure = out.error();
  out.clear_error();
  return failure;
}

// Written beside its place, then moved there: readers see the old file or the new one. LLVM's
// TempFile would do, but it handles the whole process's signals: Ctrl-C would end a Python program
// at once.
std::error_code replaceFile(const std::string &path, llvm::StringRef content) {
  int descriptor;
  llvm::SmallString<128> partial;
  if (auto failure = llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%.tmp", descriptor, partial))
    return failure;
  std::error_code failure = write(descriptor, content);
  if (!failure)
    failure = llvm::sys::fs::rename(partial, path);
  if (failure)
    (void)llvm::sys::fs::remove(partial);
  return failure;
}

/// The folder that a path means for this module, if it means one: `out`, `out/saved_model.pb`.
std::optional<llvm::StringRef> folderOf(mlir::ModuleOp module, llvm::StringRef path) {
  std::optional<GraphFormat> format = formatOfName(path);
  if (format == GraphFormat::SavedModelBinary || format == GraphFormat::SavedModelText) {
    llvm::StringRef parent = llvm::sys::path::parent_path(path);
    return parent.empty() ? llvm::StringRef(".") : parent;
  }
  if (!format && module->hasAttr(graphdef::savedModelKey))
    return path;
  return std::nullopt;
}

} // namespace

Expected<void> exportFile(mlir::ModuleOp module, const std::string &path) {
  if (std::optional<llvm::StringRef> folder = folderOf(module, path))
    return exportSavedModelFolder(module, folder->str(),
                                  formatOfName(path) == GraphFormat::SavedModelText);
  Expected<std::string> content = render(module, path);
  if (!content)
    return Unexpected(std::move(content.error()));
  if (std::error_code failure = replaceFile(path, *content))
    return Unexpected(unavailable("'", path, "' can't be written: ", failure.message()));
  return {};
}

} // namespace treadle
