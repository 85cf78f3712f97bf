// Graphs from files and from memory, in whatever format they are.
#pragma once

#include "treadle/runtime/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <string_view>

namespace treadle {

/// Reads a binary GraphDef, one in text form, or MLIR text of the tfg dialect, told apart by
/// content. `-` is standard input. NotFound if there is no such file, Unimplemented for a folder
/// that is a SavedModel, otherwise as the importers of the formats.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importFile(mlir::MLIRContext &context,
                                                       const std::string &path);

/// The same from memory.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importBytes(mlir::MLIRContext &context,
                                                        std::string_view bytes);

/// MLIR text; errors state line and column.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importMlirText(mlir::MLIRContext &context,
                                                           std::string_view text);

} // namespace treadle
