// Stacks of nodes that got another name, or another body, since they were imported.
#pragma once

#include "treadle/proto/graph.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::graphdef {

/// A message that has debug info gets an entry for each node whose location is of another name.
void addToDebugInfo(mlir::ModuleOp module, mlir::Block &graph, pb::GraphDef &def);

} // namespace treadle::graphdef
