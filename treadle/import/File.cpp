// Telling formats apart, and reading files.
#include "treadle/import/File.h"

#include "treadle/dialect/Tfg.h"
#include "treadle/import/GraphDef.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace treadle;

using ImportedModule = Expected<OwningOpRef<ModuleOp>>;

std::optional<GraphFormat> treadle::formatOfName(std::string_view path) {
  struct Row {
    StringRef extension;
    GraphFormat format;
  };
  constexpr Row rows[] = {
      {".pb", GraphFormat::Binary}, {".pbtxt", GraphFormat::Text}, {".mlir", GraphFormat::Mlir}};
  for (const Row &row : rows)
    if (StringRef(path).ends_with(row.extension))
      return row.format;
  return std::nullopt;
}

/// Skips blanks, and comments that begin with `mark`.
static StringRef skipBlanks(StringRef text, StringRef mark) {
  for (text = text.ltrim(); text.starts_with(mark); text = text.ltrim())
    text = text.drop_until([](char c) { return c == '\n'; });
  return text;
}

/// Texts have no control characters; a binary message of any size has some, since the length of a
/// short field is one.
static bool looksLikeText(StringRef head) {
  return llvm::all_of(
      head, [](char c) { return static_cast<unsigned char>(c) >= 0x20 || llvm::isSpace(c); });
}

static bool looksLikeMlir(StringRef content) {
  StringRef body = skipBlanks(content, "//");
  if (body.size() != content.ltrim().size())
    return true;
  return llvm::any_of(
      ArrayRef<StringRef>{"module", "builtin.", "tfg.", "\"", "!", "#tf", "#loc", "#map", "{-#"},
      [&](StringRef start) { return body.starts_with(start); });
}

GraphFormat treadle::formatOfContent(std::string_view content) {
  constexpr size_t looked = 4096;
  if (content.empty() || !looksLikeText(StringRef(content).take_front(looked)))
    return GraphFormat::Binary;
  return looksLikeMlir(content) ? GraphFormat::Mlir : GraphFormat::Text;
}

ImportedModule treadle::importMlirText(MLIRContext &context, std::string_view text) {
  context.loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (!message.empty() || diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    if (auto at = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
      message = str("line ", at.getLine(), ", column ", at.getColumn(), ": ");
    message += diagnostic.str();
  });
  auto module = parseSourceString<ModuleOp>(StringRef(text), ParserConfig(&context));
  if (!module)
    return Unexpected(invalidArgument("the text is no MLIR of the tfg dialect: ",
                                      message.empty() ? "it holds no module" : message));
  return module;
}

static ImportedModule import(MLIRContext &context, std::string_view content, GraphFormat format) {
  switch (format) {
  case GraphFormat::Binary:
    return importGraphDef(context, content);
  case GraphFormat::Text:
    return importGraphDefText(context, content);
  case GraphFormat::Mlir:
    return importMlirText(context, content);
  }
  return Unexpected(internal("a format without a reader"));
}

ImportedModule treadle::importBytes(MLIRContext &context, std::string_view bytes) {
  return import(context, bytes, formatOfContent(bytes));
}

static Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return Unexpected(unimplemented("'", path,
                                    "' is a folder; a SavedModel can't be read yet, only a "
                                    "GraphDef (.pb, .pbtxt) or MLIR text (.mlir)"));
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false,
                                                   /*RequiresNullTerminator=*/false);
  if (buffer)
    return std::move(*buffer);
  std::string why = buffer.getError().message();
  if (buffer.getError() == std::errc::no_such_file_or_directory)
    return Unexpected(notFound("there is no file '", path, "'"));
  if (buffer.getError() == std::errc::permission_denied)
    return Unexpected(permissionDenied("'", path, "' can't be read: ", why));
  return Unexpected(unavailable("'", path, "' can't be read: ", why));
}

ImportedModule treadle::importFile(MLIRContext &context, const std::string &path) {
  Expected<std::unique_ptr<llvm::MemoryBuffer>> file = openFile(path);
  if (!file)
    return Unexpected(file.error());
  StringRef content = (*file)->getBuffer();
  GraphFormat byContent = formatOfContent(content);
  GraphFormat format = formatOfName(path).value_or(byContent);
  // Many a graph in text form is called graph.pb.
  if (format == GraphFormat::Binary)
    format = byContent;
  ImportedModule module = import(context, content, format);
  if (!module)
    module.error().message =
        str(path == "-" ? "standard input" : path, ": ", module.error().message);
  return module;
}
