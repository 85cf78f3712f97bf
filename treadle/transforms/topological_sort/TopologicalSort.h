// Topological order of nodes, for passes that visit inputs before users.
#pragma once

#include "mlir/IR/Block.h"

#include <vector>

namespace treadle::tfg {

/// Returns the operations of a body without its terminator, each after its operands. Edges from
/// NextIteration don't count, and a node on any other cycle keeps its position among the remaining
/// ones. Takes O(n log n), because of a heap.
std::vector<mlir::Operation *> topologicalOrder(mlir::Block &body);

/// Sorts the operations of a body into that order.
void sortTopologically(mlir::Block &body);

} // namespace treadle::tfg
