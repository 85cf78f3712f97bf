// What inlining asks of a function: whether its body may stand where it is called, and what must
// have run before the call counts as done.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

struct Callee {
  FuncOp function;
  /// Why calls of it have to stay; empty: they needn't.
  std::string obstacle;
  /// Why calls of it have to stay that don't dissolve; where this is set, what follows is not.
  std::string conditionalEffect;
  size_t numNodes = 0;
  /// Nodes with effects, and nodes of control results, that no other such node depends on. Once
  /// they have run, every effect of the body has happened.
  llvm::SmallVector<Node> lastEffects;
  /// Such nodes that depend on no other.
  llvm::SmallVector<Node> firstEffects;
  /// For each result, whether one of `lastEffects` is none of its ancestors.
  llvm::SmallVector<bool> resultMustWait;
  /// For each result, the arguments it depends on, a bit each; none of those from the 65th on.
  llvm::SmallVector<uint64_t> resultArguments;
  /// For each argument, whether a result or an effect depends on it.
  llvm::SmallVector<bool> argumentIsNeeded;
  bool mayBeDead = false;
};

/// Looks at the body as it is now.
Callee analyzeCallee(FuncOp function, Effects &effects);

/// The nodes of a body that have effects, or come after one that does.
llvm::DenseSet<mlir::Operation *> nodesAfterEffects(mlir::Block &body, Effects &effects);

/// Whether the node calls a function with its own inputs, and which: by an op that is named as the
/// function, or by PartitionedCall and StatefulPartitionedCall. Empty if it doesn't.
llvm::StringRef calledFunction(Node node, const FunctionMap &functions);

} // namespace treadle::tfg
