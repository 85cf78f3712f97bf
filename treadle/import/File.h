// Graphs in files of any format.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// The formats that a graph may be stored in: a GraphDef or the message of a SavedModel, each also
/// in protobuf's text form and in chunks; MLIR text of the tfg dialect, or a program of StableHLO;
/// a portable artifact of StableHLO; and what jax.export writes.
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

/// What the name of a file says (.pb, .pbtxt, .cpb, .mlir, and saved_model.pb, .pbtxt, .cpb);
/// nullopt for other names.
std::optional<GraphFormat> formatOfName(std::string_view path);

/// What the content looks like; empty content is an empty GraphDef.
GraphFormat formatOfContent(std::string_view content);

/// Makes graphs or functions of a program of StableHLO, in place. On failure an error is emitted.
using ConvertProgram = std::function<mlir::LogicalResult(mlir::ModuleOp)>;

/// Reads a graph from a file. `-` is standard input. The name's extension tells the format, and the
/// content where the name doesn't; text in a file called .pb is read as text. A folder is a
/// SavedModel, or has a graph.pb. NotFound if there is no such file, otherwise as the importers of
/// the formats, with the path in front. `convert`: what becomes of a program, instead of a graph.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importFile(mlir::MLIRContext &context, const std::string &path, const ConvertProgram &convert = {});

/// The same from memory, the format told by content.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importBytes(mlir::MLIRContext &context,
                                                        std::string_view bytes);

/// Reads a program of StableHLO, a portable artifact or text, which `convert` makes something of.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importProgram(mlir::MLIRContext &context, std::string_view bytes, const ConvertProgram &convert);

/// MLIR text, verified; errors are InvalidArgument and state line and column.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importMlirText(mlir::MLIRContext &context,
                                                           std::string_view text);

} // namespace treadle
