// The order of nodes, for passes that need inputs before users.
#pragma once

#include "mlir/IR/Block.h"

#include <vector>

namespace treadle::tfg {

/// The operations of a body but its terminator, each after what it uses; edges from NextIteration
/// don't count, and a node on another cycle keeps its place among those that are left. Linear but
/// for a heap: n log n.
std::vector<mlir::Operation *> topologicalOrder(mlir::Block &body);

/// Puts them in that order.
void sortTopologically(mlir::Block &body);

} // namespace treadle::tfg
