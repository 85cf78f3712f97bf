// Modules become GraphDefs again. What was imported and not changed gives an equal message.
#pragma once

#include "treadle/proto/graph.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// The module's graph and functions, which must be valid (see mlir::verify). Errors:
/// InvalidArgument if it has more than one tfg.graph, or operations that are no nodes;
/// Unimplemented for types and attributes that no GraphDef can hold.
Expected<pb::GraphDef> exportGraphDef(mlir::ModuleOp module);

/// Serialized, the same bytes for equal graphs. Needs memory for the bytes and one node at a time.
/// ResourceExhausted beyond 2 GiB, which no message may have: see export/Chunks.h.
Expected<std::string> exportGraphDefBytes(mlir::ModuleOp module);
/// As it is written, without memory for all bytes.
Expected<void> exportGraphDefBytes(mlir::ModuleOp module, llvm::raw_ostream &out);

/// The message in parts: calls `take` for each node, whose memory is reused, and puts the rest into
/// `rest`.
Expected<void> exportGraphDefByNode(mlir::ModuleOp module,
                                    llvm::function_ref<void(pb::NodeDef &)> take,
                                    pb::GraphDef &rest);

/// In protobuf's text form.
Expected<std::string> exportGraphDefText(mlir::ModuleOp module);

} // namespace treadle
