// The order of the effects of one body, as edges between its nodes.
#pragma once

#include "treadle/analysis/effects/Effects.h"

namespace treadle::tfg {

struct OrderEdge {
  Node from, to;
};

/// The edges that a body lacks for nodes whose effects conflict to run in the order of its
/// definition: one for each pair that no path orders, as far as paths are looked for. The body has
/// no v1 control flow. With `isOrdered`, only between nodes that it holds for.
std::vector<OrderEdge> missingOrder(mlir::Block &body, const EffectAnalysis &effects,
                                    llvm::function_ref<bool(Node)> isOrdered = nullptr);

/// Adds control results to a function, named after their nodes.
void returnControl(ReturnOp end, llvm::ArrayRef<Node> nodes);

/// Of a function's nodes those that must run (they write, or fail if an assertion doesn't hold) and
/// that nothing which the function returns waits for: the last ones.
llvm::SmallVector<Node> notWaitedFor(FuncOp function, const EffectAnalysis &effects);

/// Whether leaving the node out could be noticed.
bool mustRun(Node node, const EffectAnalysis &effects);

/// The first node of v1 control flow, if any: where a branch isn't taken its nodes are dead, and so
/// would be what waits for them.
Node firstV1Node(mlir::Block &body);

} // namespace treadle::tfg
