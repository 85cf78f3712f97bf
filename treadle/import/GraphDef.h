// GraphDefs become modules: one tfg.graph, then the functions of the library in their order.
//
// An import keeps everything: exporting the module gives an equal message. Defaults of attributes
// that a node leaves out are not filled in.
#pragma once

#include "treadle/proto/graph.pb.h"
#include "treadle/proto/op_def.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace treadle {

/// Reads a serialized GraphDef. Needs memory for the result and one node at a time.
/// Errors are InvalidArgument: bytes that are no GraphDef, or a graph that makes no sense, in which
/// case the message begins with the node. Loads the dialects it needs into the context. `ops`
/// defines ops that the op table doesn't have.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importGraphDef(mlir::MLIRContext &context, std::string_view bytes, const pb::OpList &ops = {});

/// The same for protobuf's text form. Errors of syntax state line and column.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importGraphDefText(mlir::MLIRContext &context,
                                                               std::string_view text);

/// The same for a message in memory.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importGraphDef(mlir::MLIRContext &context,
                                                           const pb::GraphDef &graph);

/// The same for a message that is no longer needed: each part is freed once it is converted, so
/// that large constants aren't there twice.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importGraphDef(mlir::MLIRContext &context, pb::GraphDef &&graph, const pb::OpList &ops = {});

} // namespace treadle
