// Modules become GraphDefs again. What was imported and not changed gives an equal message.
#pragma once

#include "treadle/proto/graph.pb.h"
#include "treadle/runtime/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// The module's graph and functions, which must be valid (see mlir::verify). Errors:
/// InvalidArgument if it has more than one tfg.graph, or operations that are no nodes;
/// Unimplemented for types and attributes that no GraphDef can hold.
Expected<pb::GraphDef> exportGraphDef(mlir::ModuleOp module);

/// Serialized, the same bytes for equal graphs. Needs memory for the bytes and one node at a time.
Expected<std::string> exportGraphDefBytes(mlir::ModuleOp module);

/// In protobuf's text form.
Expected<std::string> exportGraphDefText(mlir::ModuleOp module);

} // namespace treadle
