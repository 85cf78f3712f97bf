// Imports GraphDefs as modules: one tfg.graph, then the functions of the library in their order.
//
// The import is lossless: exporting the module gives an equal message. Defaults of omitted
// attributes aren't filled in.
#pragma once

#include "treadle/proto/graph.pb.h"
#include "treadle/proto/op_def.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace treadle {

/// Imports a serialized GraphDef. Needs memory for the result and one node at a time. Errors are
/// InvalidArgument: the bytes aren't a GraphDef, or the graph is malformed, in which case the
/// message begins with the node. Loads the required dialects into the context. `ops` defines ops
/// that aren't in the op table.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importGraphDef(mlir::MLIRContext &context, std::string_view bytes, const pb::OpList &ops = {});

/// Like `importGraphDef`, but for protobuf's text format. Syntax errors state line and column.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importGraphDefText(mlir::MLIRContext &context,
                                                               std::string_view text);

/// Imports a message in memory.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importGraphDef(mlir::MLIRContext &context,
                                                           const pb::GraphDef &graph);

/// Imports a message that is no longer needed: each part is freed once it is converted, so that
/// large constants aren't in memory twice.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importGraphDef(mlir::MLIRContext &context, pb::GraphDef &&graph, const pb::OpList &ops = {});

} // namespace treadle
