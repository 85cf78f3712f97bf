// Reads graphs from files of any format.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// The formats of graphs: a GraphDef or SavedModel message, each also in protobuf's text format and
/// in chunks; MLIR text of the tfg dialect or of a StableHLO program; a portable artifact of
/// StableHLO; and the format of jax.export.
enum class GraphFormat {
  Binary,
  Text,
  Chunks,
  SavedModelBinary,
  SavedModelText,
  SavedModelChunks,
  Mlir,
  Artifact,
  JaxExport
};

inline bool isSavedModel(GraphFormat format) {
  return format == GraphFormat::SavedModelBinary || format == GraphFormat::SavedModelText ||
         format == GraphFormat::SavedModelChunks;
}

/// Returns the format that a file name implies (.pb, .pbtxt, .cpb, .mlir, and saved_model.pb,
/// .pbtxt, .cpb); nullopt for other names.
std::optional<GraphFormat> formatOfName(std::string_view path);

/// Detects the format of the content; empty content is an empty GraphDef.
GraphFormat formatOfContent(std::string_view content);

/// Converts a StableHLO program to graphs or functions in place. Emits an error on failure.
using ConvertProgram = std::function<mlir::LogicalResult(mlir::ModuleOp)>;

/// Reads a graph from a file; `-` is standard input. The format follows from the extension,
/// otherwise from the content; text in a .pb file is read as text. A folder is a SavedModel or
/// contains a graph.pb. NotFound if there is no such file; otherwise the errors of the format's
/// importer, prefixed with the path. `convert` converts a program.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importFile(mlir::MLIRContext &context, const std::string &path, const ConvertProgram &convert = {});

/// Like `importFile`, but for bytes in memory; the format is detected from the content.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importBytes(mlir::MLIRContext &context,
                                                        std::string_view bytes);

/// Reads a StableHLO program, as a portable artifact or text, and converts it by `convert`.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importProgram(mlir::MLIRContext &context, std::string_view bytes, const ConvertProgram &convert);

/// Parses and verifies MLIR text; errors are InvalidArgument and state line and column.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importMlirText(mlir::MLIRContext &context,
                                                           std::string_view text);

} // namespace treadle
