// Exports modules as GraphDefs. An imported module that wasn't changed gives an equal message.
#pragma once

#include "treadle/proto/graph.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// Exports the module's graph and functions; the module must be valid (see mlir::verify).
/// InvalidArgument if it has more than one tfg.graph, or operations that aren't nodes;
/// Unimplemented for types and attributes that a GraphDef can't represent.
Expected<pb::GraphDef> exportGraphDef(mlir::ModuleOp module);

/// Serializes deterministically: equal graphs give equal bytes. Needs memory for the bytes and one
/// node at a time. ResourceExhausted beyond 2 GiB, the limit of messages: see export/Chunks.h.
Expected<std::string> exportGraphDefBytes(mlir::ModuleOp module);
/// Writes to a stream, without holding all bytes in memory.
Expected<void> exportGraphDefBytes(mlir::ModuleOp module, llvm::raw_ostream &out);

/// Exports the message in parts: calls `take` for each node, whose memory is reused, and stores
/// everything else in `rest`.
Expected<void> exportGraphDefByNode(mlir::ModuleOp module,
                                    llvm::function_ref<void(pb::NodeDef &)> take,
                                    pb::GraphDef &rest);

/// Exports in protobuf's text format.
Expected<std::string> exportGraphDefText(mlir::ModuleOp module);

} // namespace treadle
