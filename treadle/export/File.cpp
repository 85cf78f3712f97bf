#include "treadle/export/File.h"

#include "treadle/dialect/SourceLocation.h"
#include "treadle/export/Chunks.h"
#include "treadle/export/GraphDef.h"
#include "treadle/export/SavedModel.h"
#include "treadle/import/File.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/TfExecutor.h"
#include "treadle/tensor/Suggestions.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace treadle {
namespace {

Error unknownExtension(llvm::StringRef path, bool isSavedModel) {
  constexpr std::string_view extensions[] = {".pb", ".pbtxt", ".cpb", ".mlir"};
  std::string extension = llvm::sys::path::extension(path).str();
  constexpr size_t tooShortToTell = 3; // `.v2`
  return invalidArgument("'", path.str(), "' has no known extension",
                         extension.size() > tooShortToTell ? didYouMean(extension, extensions) : "",
                         "; end it in .pb, .pbtxt, .cpb or .mlir",
                         isSavedModel ? ", or in '/' for a SavedModel's folder"
                                      : " (a folder is for SavedModels)");
}

Expected<std::string> render(mlir::ModuleOp module, llvm::StringRef path) {
  if (hasTfExecutor(module) && !path.ends_with(".mlir"))
    return Unexpected(invalidArgument("'", path.str(),
                                      "' can't hold a graph in tf_executor; end the name in .mlir, "
                                      "or run the pass tf-executor-to-tfg first"));
  if (path.ends_with(".pbtxt"))
    return exportGraphDefText(module);
  if (!path.ends_with(".mlir"))
    return Unexpected(unknownExtension(path, /*isSavedModel=*/false));
  return printMlir(module);
}

// Writes to a temporary file next to the target and renames it: readers see the old file or the new
// one. LLVM's TempFile isn't used because it installs signal handlers for the whole process: Ctrl-C
// would end a Python program at once.
Expected<void> replaceFile(const std::string &path,
                           llvm::function_ref<Expected<void>(llvm::raw_ostream &)> write) {
  int descriptor;
  llvm::SmallString<128> partial;
  std::error_code failure =
      llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%.tmp", descriptor, partial);
  if (failure)
    return Unexpected(unavailable("'", path, "' can't be written: ", failure.message()));
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  Expected<void> written = write(out);
  out.close();
  failure = out.error();
  out.clear_error();
  if (!failure && written)
    failure = llvm::sys::fs::rename(partial, path);
  if (failure || !written)
    (void)llvm::sys::fs::remove(partial);
  if (written && failure)
    return Unexpected(unavailable("'", path, "' can't be written: ", failure.message()));
  return written;
}

/// Returns the folder that a path denotes for this module, if any: `out`, `out.v2/`,
/// `out/saved_model.pb`. Fails if the file name has an unknown extension: `out.onnx`.
Expected<std::optional<llvm::StringRef>> folderOf(mlir::ModuleOp module, llvm::StringRef path) {
  std::optional<GraphFormat> format = formatOfName(path);
  if (format && isSavedModel(*format)) {
    llvm::StringRef parent = llvm::sys::path::parent_path(path);
    return parent.empty() ? llvm::StringRef(".") : parent;
  }
  if (format || !module->hasAttr(graphdef::savedModelKey))
    return std::nullopt;
  bool isFile = llvm::sys::path::has_extension(path) && !path.ends_with("/") &&
                !llvm::sys::fs::is_directory(path);
  if (isFile || path == "-") // nothing is written to standard output
    return Unexpected(unknownExtension(path, /*isSavedModel=*/true));
  return path;
}

SavedModelForm formOf(std::optional<GraphFormat> format) {
  if (format == GraphFormat::SavedModelText)
    return SavedModelForm::Text;
  return format == GraphFormat::SavedModelChunks ? SavedModelForm::Chunks : SavedModelForm::Binary;
}

} // namespace

Expected<void> exportFile(mlir::ModuleOp module, const std::string &path) {
  std::optional<GraphFormat> format = formatOfName(path);
  std::optional<llvm::StringRef> folder = TREADLE_TRY(folderOf(module, path));
  if (folder)
    return exportSavedModelFolder(module, folder->str(), formOf(format));
  if (format == GraphFormat::Chunks)
    return replaceFile(path, [&](llvm::raw_ostream &out) {
      return exportGraphDefChunks(module, [&](std::string_view bytes) {
        out << bytes;
        return true;
      });
    });
  if (format == GraphFormat::Binary && needsChunks(module))
    return Unexpected(resourceExhausted("'", path,
                                        "': the graph takes more than 2 GiB, the limit of protobuf "
                                        "messages; name it .cpb to write it in chunks, or .mlir"));
  if (format == GraphFormat::Binary && !hasTfExecutor(module))
    return replaceFile(path,
                       [&](llvm::raw_ostream &out) { return exportGraphDefBytes(module, out); });
  std::string content = TREADLE_TRY(render(module, path));
  return replaceFile(path, [&](llvm::raw_ostream &out) {
    out << content;
    return Expected<void>();
  });
}

/// Whether nodes have source locations.
static bool hasSourceLocations(mlir::ModuleOp module) {
  return module
      .walk([](mlir::Operation *op) {
        return stackOf(op->getLoc()) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

std::string printMlir(mlir::ModuleOp module) {
  mlir::OpPrintingFlags flags;
  if (hasTfExecutor(module) || hasSourceLocations(module))
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, flags);
  return text;
}

} // namespace treadle
