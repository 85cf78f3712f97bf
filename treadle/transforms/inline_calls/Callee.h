// The analysis of a callee for inlining: whether it can be inlined, and which nodes must run before
// the call counts as complete.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

struct Callee {
  FuncOp function;
  /// The reason why its calls can't be inlined; empty if they can.
  std::string obstacle;
  /// The reason why its calls can't be inlined unless they have TensorFlow's weaker dependencies.
  /// If set, the fields below aren't.
  std::string conditionalEffect;
  size_t numNodes = 0;
  /// The nodes with side effects and of control results that no other such node depends on. Once
  /// they have run, all side effects of the body have happened.
  llvm::SmallVector<Node> lastEffects;
  /// The nodes of this kind that depend on no other.
  llvm::SmallVector<Node> firstEffects;
  /// For each result, whether it doesn't depend on all of `lastEffects`.
  llvm::SmallVector<bool> resultMustWait;
  /// For each result, a bit set of the arguments that it depends on; only the first 64 arguments
  /// are tracked.
  llvm::SmallVector<uint64_t> resultArguments;
  /// For each argument, whether a result or a side effect depends on it.
  llvm::SmallVector<bool> argumentIsNeeded;
  bool mayBeDead = false;
};

/// Analyzes the current body of the function.
Callee analyzeCallee(FuncOp function, Effects &effects);

/// Returns the nodes of a body that have side effects or depend on a node with side effects.
llvm::DenseSet<mlir::Operation *> nodesAfterEffects(mlir::Block &body, Effects &effects);

/// Returns the function that the node calls with its own inputs: by an op named like the function,
/// or by PartitionedCall or StatefulPartitionedCall. Empty if it calls none.
llvm::StringRef calledFunction(Node node, const FunctionMap &functions);

} // namespace treadle::tfg
