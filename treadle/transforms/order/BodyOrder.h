// The order of the side effects of one body, as edges between nodes.
#pragma once

#include "treadle/analysis/effects/Effects.h"

namespace treadle::tfg {

struct OrderEdge {
  Node from, to;
};

/// Returns the missing edges between nodes of a body with conflicting side effects: one for each
/// pair that no path orders, as far as paths are searched, from the earlier to the later node in
/// the graph. The body must not have v1 control flow. `isOrdered` restricts the nodes.
std::vector<OrderEdge> missingOrder(mlir::Block &body, const EffectAnalysis &effects,
                                    llvm::function_ref<bool(Node)> isOrdered = nullptr);

/// Adds control results, named after their nodes, to a function.
void returnControl(ReturnOp end, llvm::ArrayRef<Node> nodes);

/// Returns the last of a function's nodes that must run (they write, or they fail if an assertion
/// doesn't hold) and that no result of the function waits for.
llvm::SmallVector<Node> unawaitedEffects(FuncOp function, const EffectAnalysis &effects);

/// Returns whether removing the node could be observed.
bool mustRun(Node node, const EffectAnalysis &effects);

/// Returns the first node of v1 control flow, if any. Nodes of a branch that isn't taken are dead,
/// and nodes that wait for them would be too.
Node firstV1Node(mlir::Block &body);

} // namespace treadle::tfg
