// SavedModels become modules: the graph and functions of a meta graph as those of a GraphDef, its
// signatures as `tfg.signatures`, the rest as bytes. docs/decisions/0006 shows the forms.
#pragma once

#include "treadle/proto/saved_model.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace treadle {

/// Reads a serialized SavedModel. Exporting the module gives an equal message. A SavedModel of one
/// meta graph is one module; one of several, or of none, is a module of modules. Errors as those of
/// importGraphDef; where there are several meta graphs they begin with the tags of theirs.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importSavedModel(mlir::MLIRContext &context,
                                                             std::string_view bytes);

/// The same for protobuf's text form. Errors of syntax state line and column.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importSavedModelText(mlir::MLIRContext &context,
                                                                 std::string_view text);

/// The same for a message in memory, whose graphs are taken out of it to save memory.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importSavedModel(mlir::MLIRContext &context,
                                                             pb::SavedModel &&model);

/// The module's meta graphs: itself, or those inside it. Empty if it is no SavedModel.
llvm::SmallVector<mlir::ModuleOp> metaGraphs(mlir::ModuleOp module);

} // namespace treadle
