// Detects formats and reads files.
#include "treadle/import/File.h"

#include "treadle/dialect/TfExecutor.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/dialect/stablehlo/StableHlo.h"
#include "treadle/import/Chunks.h"
#include "treadle/import/ForeignFormats.h"
#include "treadle/import/Fragment.h"
#include "treadle/import/GraphDef.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/MlirNesting.h"
#include "treadle/import/OldSpelling.h"
#include "treadle/import/PackedBools.h"
#include "treadle/import/SavedModel.h"
#include "treadle/import/StoredElements.h"
#include "treadle/import/TfExecutor.h"
#include "treadle/import/bytecode/Bytecode.h"
#include "treadle/import/bytecode/JaxExport.h"
#include "treadle/import/stablehlo/Import.h"
#include "treadle/import/stablehlo/Linalg.h"
#include "treadle/import/stablehlo/Scf.h"
#include "treadle/import/stablehlo/Structure.h"
#include "treadle/riegeli/RecordReader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace treadle;

using ImportedModule = Expected<OwningOpRef<ModuleOp>>;

std::optional<GraphFormat> treadle::formatOfName(std::string_view path) {
  struct Row {
    StringRef end;
    GraphFormat format;
    bool isWholeName = false;
  };
  constexpr Row rows[] = {{"saved_model.pb", GraphFormat::SavedModelBinary, true},
                          {"saved_model.pbtxt", GraphFormat::SavedModelText, true},
                          {"saved_model.cpb", GraphFormat::SavedModelChunks, true},
                          {".pb", GraphFormat::Binary},
                          {".pbtxt", GraphFormat::Text},
                          {".cpb", GraphFormat::Chunks},
                          {".mlir", GraphFormat::Mlir}};
  StringRef name = llvm::sys::path::filename(path);
  for (const Row &row : rows)
    if (row.isWholeName ? name == row.end : name.ends_with(row.end))
      return row.format;
  return std::nullopt;
}

/// Skips whitespace, and comments that begin with `mark`.
static StringRef skipBlanks(StringRef text, StringRef mark) {
  for (text = text.ltrim(); text.starts_with(mark); text = text.ltrim())
    text = text.drop_until([](char c) { return c == '\n'; });
  return text;
}

/// Text has no control characters. Binary messages of any size have some, because the length of a
/// short field is one.
static bool looksLikeText(StringRef head) {
  return llvm::all_of(
      head, [](char c) { return static_cast<unsigned char>(c) >= 0x20 || llvm::isSpace(c); });
}

static bool looksLikeMlir(StringRef content) {
  StringRef body = skipBlanks(content, "//");
  if (body.size() != content.ltrim().size())
    return true;
  return llvm::any_of(ArrayRef<StringRef>{"module", "builtin.", "func.func", "func ", "tfg.", "\"",
                                          "!", "%", "#tf", "#loc", "#map", "{-#"},
                      [&](StringRef start) { return body.starts_with(start); });
}

GraphFormat treadle::formatOfContent(std::string_view content) {
  constexpr size_t looked = 4096;
  // A SavedModel begins with its version, a number; no field of a GraphDef has that tag.
  constexpr char versionTag = 1 << 3;
  if (isBytecode(content))
    return GraphFormat::Artifact;
  if (isJaxExport(content))
    return GraphFormat::JaxExport;
  if (content.empty() || !looksLikeText(StringRef(content).take_front(looked)))
    return riegeli::isRiegeli(content)                         ? GraphFormat::Chunks
           : !content.empty() && content.front() == versionTag ? GraphFormat::SavedModelBinary
                                                               : GraphFormat::Binary;
  if (looksLikeMlir(content))
    return GraphFormat::Mlir;
  StringRef body = skipBlanks(content, "#");
  return body.starts_with("saved_model_schema_version") || body.starts_with("meta_graphs")
             ? GraphFormat::SavedModelText
             : GraphFormat::Text;
}

static bool containsAny(StringRef text, ArrayRef<StringRef> names) {
  return llvm::any_of(names, [&](StringRef name) { return text.contains(name); });
}

/// Loads the dialects that a program's text needs; unknown ones are reported when the text is read.
/// Returns false if the text is a graph rather than a program.
static bool loadProgramDialects(MLIRContext &context, StringRef text) {
  bool isGraph = containsAny(text, {"tf_executor.", "tfg."});
  bool isStandard =
      !isGraph && containsAny(text, {"scf.", "arith.", "math.", "tensor.", "cf.", "linalg.",
                                     "shape.", "affine.", "bufferization."});
  bool isProgram =
      isStandard || containsAny(text, {"stablehlo.", "mhlo.", "chlo.", "sdy.", "check."});
  if (!isProgram && (isGraph || !containsAny(text, {"func.func"})))
    return false;
  stablehlo::loadDialects(context);
  hlo::loadBranches(context);
  if (isStandard)
    hlo::loadStandardDialects(context);
  if (isStandard && containsAny(text, {"linalg.", "bufferization."}))
    hlo::loadLinalg(context);
  return true;
}

/// Converts other dialects to tfg in place.
static LogicalResult convertToTfg(ModuleOp module, const ConvertProgram &convert) {
  if (hasStableHlo(module))
    return convert(module);
  return hasTfExecutor(module) ? importTfExecutor(module) : success();
}

/// Returns the place of a message: in the text, or in the program that the text's locations refer
/// to.
static std::string locationPrefix(Location location) {
  if (auto at = location->findInstanceOf<FileLineColLoc>(); at && at.getLine()) {
    std::string place = str("line ", at.getLine(), ", column ", at.getColumn());
    bool isOfProgram = at.getFilename().getValue().contains('.'); // the text has no name
    return (isOfProgram ? at.getFilename().str() + ", " : "") + place + ": ";
  }
  return {};
}

/// Rewrites an error about an op of an unloaded dialect to the wording for unknown ops.
static std::optional<std::string> rewordUnknownDialectError(StringRef message) {
  if (!message.starts_with("Dialect `") || !message.contains("' not found for custom op '"))
    return std::nullopt;
  StringRef op = message.rsplit("' not found for custom op '").second;
  return op.take_until([](char c) { return c == '\''; }).str() + " is not supported";
}

/// Whether the content contains MLIR bytecode inside another file format.
static bool containsBytecode(StringRef content) {
  constexpr size_t looked = 4096;
  return content.take_front(looked).contains(StringRef("ML\xefR", 4));
}

static Error bytecodeError(StringRef content) {
  StringRef producer = content.substr(content.find("\xefR") + 3).take_while(llvm::isPrint);
  return unimplemented("it contains MLIR bytecode", producer.empty() ? "" : " of ", producer.str(),
                       ", but doesn't begin with it; expected only the bytecode, as "
                       "Exported.mlir_module_serialized of jax.export, or a file of "
                       "Exported.serialize()");
}

namespace {
/// Handles MLIR's diagnostics while a program is read: keeps the first error, and passes remarks on
/// to the caller.
class FirstError {
public:
  explicit FirstError(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          note(diagnostic);
          return success(diagnostic.getSeverity() != DiagnosticSeverity::Remark);
        }) {}

  bool isUnimplemented = false;
  std::string message;

  Error error() const {
    return isUnimplemented ? unimplemented(message) : invalidArgument(message);
  }

private:
  void note(Diagnostic &diagnostic);

  ScopedDiagnosticHandler handler;
};
} // namespace

void FirstError::note(Diagnostic &diagnostic) {
  if (!message.empty() || diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return;
  message = locationPrefix(diagnostic.getLocation());
  std::string text = diagnostic.str();
  StringRef what = text;
  isUnimplemented = what.consume_front("unimplemented: ");
  if (auto op = rewordUnknownDialectError(what)) {
    isUnimplemented = true;
    message += *op;
    return;
  }
  message += what;
}

static void loadGraphDialects(MLIRContext &context) {
  context.loadDialect<func::FuncDialect, tf_executor::TfExecutorDialect, tfg::TfgDialect,
                      tf_type::TfTypeDialect>();
}

/// Verifies a program after upgrading old ops and loading the elements of constants.
static LogicalResult verifyProgram(ModuleOp module) {
  stablehlo::upgradeMhloOps(module);
  return failure(failed(loadStoredElements(module)) || failed(verify(module)));
}

static ImportedModule readMlirText(MLIRContext &context, std::string_view written,
                                   const ConvertProgram &convert) {
  TREADLE_TRY(checkMlirNesting(written));
  std::string text = withCurrentSpelling(written);
  loadGraphDialects(context);
  FirstError first(context);
  bool wasOpen = context.allowsUnregisteredDialects();
  bool isBody = isFragment(text);
  if (loadProgramDialects(context, isBody ? "func.func" + text : text))
    context.allowUnregisteredDialects();
  if (isBody)
    text = wrapInMain(context, text);
  // MLIR's lexer reads the byte after the text, which must be zero.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  auto module = parseSourceString<ModuleOp>(withPackedBools(text), config);
  if (module && isBody)
    returnUnused(*module);
  bool isGood =
      module && succeeded(verifyProgram(*module)) && succeeded(convertToTfg(*module, convert));
  context.allowUnregisteredDialects(wasOpen);
  if (first.isUnimplemented || (module && !isGood))
    return Unexpected(first.error());
  if (!module && StringRef(first.message).contains("' op "))
    return Unexpected(first.error());
  if (!module)
    return Unexpected(
        invalidArgument("the text isn't MLIR of the tfg, tf_executor or stablehlo dialect: ",
                        first.message.empty() ? "expected a module" : first.message));
  return module;
}

ImportedModule treadle::importMlirText(MLIRContext &context, std::string_view text) {
  return readMlirText(context, text, importStableHlo);
}

/// Imports a portable artifact of StableHLO.
static ImportedModule importMlirBytecode(MLIRContext &context, std::string_view bytes,
                                         const ConvertProgram &convert) {
  loadGraphDialects(context);
  stablehlo::loadDialects(context);
  hlo::loadBranches(context);
  FirstError first(context);
  bool wasOpen = context.allowsUnregisteredDialects();
  context.allowUnregisteredDialects();
  ImportedModule module = readBytecode(context, bytes);
  bool isGood =
      module && succeeded(verifyProgram(**module)) && succeeded(convertToTfg(**module, convert));
  context.allowUnregisteredDialects(wasOpen);
  if (module && !isGood)
    return Unexpected(first.error());
  return module;
}

/// Imports an artifact with the metadata of jax.export.
static ImportedModule importJaxExport(MLIRContext &context, std::string_view bytes,
                                      const ConvertProgram &convert) {
  JaxExport exported = TREADLE_TRY(JaxExport::read(bytes));
  return importMlirBytecode(context, exported.artifact, [&](ModuleOp program) -> LogicalResult {
    FailureOr<func::FuncOp> main = entryOf(program);
    return failure(failed(main) || failed(exported.bind(*main)) || failed(convert(program)));
  });
}

ImportedModule treadle::importProgram(MLIRContext &context, std::string_view bytes,
                                      const ConvertProgram &convert) {
  return isBytecode(bytes) ? importMlirBytecode(context, bytes, convert)
                           : readMlirText(context, bytes, convert);
}

static ImportedModule importMessage(MLIRContext &context, pb::GraphDef &&graph) {
  return importGraphDef(context, std::move(graph));
}
static ImportedModule importMessage(MLIRContext &context, pb::SavedModel &&model) {
  return importSavedModel(context, std::move(model));
}

template <typename Message>
static ImportedModule importChunks(MLIRContext &context, std::string_view bytes) {
  Message message;
  TREADLE_TRY(graphdef::mergeChunks(bytes, message));
  return importMessage(context, std::move(message));
}

static ImportedModule importAs(GraphFormat format, MLIRContext &context, std::string_view content,
                               const ConvertProgram &convert) {
  switch (format) {
  case GraphFormat::Binary:
    return importGraphDef(context, content);
  case GraphFormat::Text:
    return importGraphDefText(context, content);
  case GraphFormat::SavedModelBinary:
    return importSavedModel(context, content);
  case GraphFormat::SavedModelText:
    return importSavedModelText(context, content);
  case GraphFormat::Chunks:
    return importChunks<pb::GraphDef>(context, content);
  case GraphFormat::SavedModelChunks:
    return importChunks<pb::SavedModel>(context, content);
  case GraphFormat::Mlir:
    return readMlirText(context, content, convert);
  case GraphFormat::Artifact:
    return importMlirBytecode(context, content, convert);
  case GraphFormat::JaxExport:
    return importJaxExport(context, content, convert);
  }
  return Unexpected(internal("a format without a reader"));
}

/// `path` may be empty. If the content can't be read, the error names the format that it seems to
/// have, which helps more than a byte position.
static ImportedModule import(MLIRContext &context, std::string_view path, std::string_view content,
                             GraphFormat format, const ConvertProgram &convert = importStableHlo) {
  ImportedModule module = importAs(format, context, content, convert);
  bool isProgram = format == GraphFormat::Artifact || format == GraphFormat::JaxExport;
  if (module || isProgram)
    return module;
  if (containsBytecode(content))
    return Unexpected(bytecodeError(content));
  if (format != GraphFormat::Mlir)
    if (std::optional<std::string> foreign = foreignFormat(path, content))
      return Unexpected(invalidArgument("the input is ", *foreign));
  return module;
}

ImportedModule treadle::importBytes(MLIRContext &context, std::string_view bytes) {
  return import(context, "", bytes, formatOfContent(bytes));
}

/// Larger files are mapped instead of read, because a copy would take too much memory; but if a
/// mapped file is truncated meanwhile, the process crashes.
static constexpr uint64_t largestRead = uint64_t{256} << 20;

static Unexpected unreadable(const std::string &path, std::error_code why) {
  if (why == std::errc::no_such_file_or_directory)
    return Unexpected(notFound("there is no file '", path, "'"));
  if (why == std::errc::permission_denied)
    return Unexpected(permissionDenied("'", path, "' can't be read: ", why.message()));
  return Unexpected(unavailable("'", path, "' can't be read: ", why.message()));
}

/// Reads a file of `size` bytes.
static Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string &path,
                                                              uint64_t size) {
  namespace fs = llvm::sys::fs;
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(path);
  if (!file)
    return unreadable(path, llvm::errorToErrorCode(file.takeError()));
  llvm::scope_exit close([&] { std::ignore = fs::closeFile(*file); });
  auto memory = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(size, path);
  if (!memory)
    return Unexpected(
        resourceExhausted("'", path, "' has ", size, " bytes, more than the available memory"));
  for (MutableArrayRef<char> rest = memory->getBuffer(); !rest.empty();) {
    llvm::Expected<size_t> got = fs::readNativeFile(*file, rest);
    if (!got)
      return unreadable(path, llvm::errorToErrorCode(got.takeError()));
    if (!*got)
      return Unexpected(dataLoss("'", path, "' was truncated while it was read: it had ", size,
                                 " bytes, and ", rest.size(), " of them are missing"));
    rest = rest.drop_front(*got);
  }
  return memory;
}

static Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(const std::string &path) {
  llvm::sys::fs::file_status status;
  bool isThere = path != "-" && !llvm::sys::fs::status(path, status);
  if (isThere && status.type() == llvm::sys::fs::file_type::regular_file &&
      status.getSize() <= largestRead)
    return readFile(path, status.getSize());
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false,
                                                   /*RequiresNullTerminator=*/false);
  if (buffer)
    return std::move(*buffer);
  return unreadable(path, buffer.getError());
}

/// Returns the file in a folder that contains the graph.
static Expected<std::string> fileInFolder(const std::string &folder) {
  for (StringRef name : {"saved_model.cpb", "saved_model.pb", "saved_model.pbtxt", "graph.pb"}) {
    llvm::SmallString<128> file(folder);
    llvm::sys::path::append(file, name);
    if (llvm::sys::fs::exists(file))
      return file.str().str();
  }
  return Unexpected(notFound("'", folder,
                             "' is a folder with neither saved_model.pb nor saved_model.pbtxt nor "
                             "saved_model.cpb nor graph.pb",
                             foreignFolder(folder)));
}

/// Records the folder of a SavedModel's other files.
static void recordModelFolder(ModuleOp module, StringRef path) {
  llvm::SmallString<128> folder = llvm::sys::path::parent_path(path);
  std::ignore = llvm::sys::fs::make_absolute(folder);
  llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
  module->setAttr(graphdef::filesKey, StringAttr::get(module.getContext(), folder));
}

/// Returns the format to read a file as.
static GraphFormat formatOf(StringRef path, StringRef content) {
  GraphFormat byContent = formatOfContent(content);
  if (byContent == GraphFormat::Artifact || byContent == GraphFormat::JaxExport)
    return byContent;
  GraphFormat format = formatOfName(path).value_or(byContent);
  bool isText = byContent == GraphFormat::Text || byContent == GraphFormat::SavedModelText;
  // Many graphs in text form have names like graph.pb.
  if (format == GraphFormat::Binary)
    return byContent;
  return format == GraphFormat::SavedModelBinary && isText ? GraphFormat::SavedModelText : format;
}

/// An empty file is a GraphDef only if its name says so.
static bool isEmptyFile(StringRef path, StringRef content) {
  GraphFormat format = formatOfName(path).value_or(GraphFormat::Mlir);
  return content.empty() && path != "-" && format == GraphFormat::Mlir;
}

ImportedModule treadle::importFile(MLIRContext &context, const std::string &path,
                                   const ConvertProgram &convert) {
  std::string named = path;
  if (llvm::sys::fs::is_directory(path)) {
    std::string found = TREADLE_TRY(fileInFolder(path));
    named = found;
  }
  std::unique_ptr<llvm::MemoryBuffer> file = TREADLE_TRY(openFile(named));
  StringRef content = file->getBuffer();
  if (isEmptyFile(named, content))
    return Unexpected(invalidArgument(named, ": the file is empty; expected a model"));
  GraphFormat format = formatOf(named, content);
  ImportedModule module =
      import(context, named, content, format, convert ? convert : ConvertProgram(importStableHlo));
  if (!module)
    module.error().message =
        str(path == "-" ? "standard input" : named, ": ", module.error().message);
  else if (path != "-" && format != GraphFormat::Mlir && !metaGraphs(**module).empty())
    recordModelFolder(**module, named);
  return module;
}
