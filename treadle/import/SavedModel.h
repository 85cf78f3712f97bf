// Imports SavedModels as modules: the graph and functions of a meta graph as for a GraphDef, its
// signatures as `tfg.signatures`, the rest as bytes. docs/decisions/0006 shows the forms.
#pragma once

#include "treadle/proto/saved_model.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace treadle {

/// Imports a serialized SavedModel. Exporting the module gives an equal message. A SavedModel with
/// one meta graph is one module; one with several or none is a module of modules. Errors as for
/// importGraphDef; if there are several meta graphs, they begin with the tags of the affected one.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importSavedModel(mlir::MLIRContext &context,
                                                             std::string_view bytes);

/// Like `importSavedModel`, but for protobuf's text format. Syntax errors state line and column.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importSavedModelText(mlir::MLIRContext &context,
                                                                 std::string_view text);

/// Imports a message in memory; its graphs are moved out of it to save memory.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importSavedModel(mlir::MLIRContext &context,
                                                             pb::SavedModel &&model);

/// Returns the module's meta graphs: itself, or its inner modules. Empty if it isn't a SavedModel.
llvm::SmallVector<mlir::ModuleOp> metaGraphs(mlir::ModuleOp module);

} // namespace treadle
