#include "treadle/import/File.h"

#include "treadle/dialect/Tfg.h"
#include "treadle/import/GraphDef.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cctype>

namespace treadle {
namespace {

enum class Format { Binary, ProtoText, Mlir };

bool isTextByte(unsigned char c) { return c >= 0x20 || c == '\n' || c == '\t' || c == '\r'; }

// Text forms have no control characters; a binary message of any size has some, since the length of
// a short field is one. MLIR begins with `module`, an operation, an attribute alias or a comment.
Format formatOf(std::string_view bytes) {
  std::string_view head = bytes.substr(0, 4096);
  if (!std::all_of(head.begin(), head.end(), isTextByte))
    return Format::Binary;
  auto skip = [&](auto isSkipped) {
    while (!head.empty() && isSkipped(static_cast<unsigned char>(head.front())))
      head.remove_prefix(1);
  };
  skip([](unsigned char c) { return std::isspace(c); });
  for (std::string_view start : {"//", "module", "tfg.", "\"", "!", "#tf", "#loc", "#map"})
    if (head.starts_with(start))
      return Format::Mlir;
  return head.empty() && !bytes.empty() ? Format::Binary : Format::ProtoText;
}

} // namespace

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importMlirText(mlir::MLIRContext &context,
                                                           std::string_view text) {
  context.loadDialect<tfg::TfgDialect, tf_type::TfTypeDialect>();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (!message.empty() || diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
      return mlir::success();
    if (auto at = mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
      message = str("line ", at.getLine(), ", column ", at.getColumn(), ": ");
    message += diagnostic.str();
    return mlir::success();
  });
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(llvm::StringRef(text), mlir::ParserConfig(&context));
  if (!module)
    return Unexpected(invalidArgument(message.empty() ? "the MLIR text can't be read" : message));
  return module;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importBytes(mlir::MLIRContext &context,
                                                        std::string_view bytes) {
  switch (formatOf(bytes)) {
  case Format::Binary:
    return importGraphDef(context, bytes);
  case Format::ProtoText:
    return importGraphDefText(context, bytes);
  case Format::Mlir:
    return importMlirText(context, bytes);
  }
  return Unexpected(internal("a format without a reader"));
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importFile(mlir::MLIRContext &context,
                                                       const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return Unexpected(unimplemented("'", path,
                                    "' is a folder; a SavedModel can't be read yet, only "
                                    "a GraphDef (.pb, .pbtxt) or MLIR text (.mlir)"));
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer) {
    std::string why = buffer.getError().message();
    if (buffer.getError() == std::errc::no_such_file_or_directory)
      return Unexpected(notFound("there is no file '", path, "'"));
    if (buffer.getError() == std::errc::permission_denied)
      return Unexpected(permissionDenied("'", path, "' can't be read: ", why));
    return Unexpected(unavailable("'", path, "' can't be read: ", why));
  }
  llvm::StringRef content = (*buffer)->getBuffer();
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = importBytes(context, content);
  if (!module)
    module.error().message =
        str(path == "-" ? "standard input" : path, ": ", module.error().message);
  return module;
}

} // namespace treadle
