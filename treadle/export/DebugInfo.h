// Updates debug info for nodes that were renamed or moved to another body since import.
#pragma once

#include "treadle/proto/graph.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::graphdef {

/// Adds an entry for each node whose location has another name, if the message has debug info.
void addToDebugInfo(mlir::ModuleOp module, mlir::Block &graph, pb::GraphDef &def);

} // namespace treadle::graphdef
