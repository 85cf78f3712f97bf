// The loops of v1 control flow in one body, and the frame of each node.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <vector>

namespace treadle::tfg {

/// One frame. Its Enter nodes pass values in, its Exit nodes pass them out. Both are between two
/// frames, so neither frame's list of nodes contains them.
struct Loop {
  mlir::StringAttr frameName;
  Loop *parent = nullptr;
  std::vector<Loop *> children; // the ones that weren't converted
  std::vector<mlir::Operation *> enters, exits, nodes;
  /// The reason why the loop can't be converted, and the offending node.
  std::string problem;
  mlir::Operation *culprit = nullptr;
  /// Whether an input of the loop may depend on one of its results.
  bool hasFeedback = false;

  void refuse(mlir::Operation *op, std::string why) {
    if (problem.empty())
      problem = std::move(why), culprit = op;
  }
  /// Calls `visit` for the nodes of this loop and of nested loops, including their Enter and Exit
  /// nodes.
  void forEachNode(llvm::function_ref<void(mlir::Operation *)> visit) const;
};

/// Returns the op without a leading "Ref".
llvm::StringRef v1Kind(Node node);

/// Finds the loops of a body whose nodes are given in topological order; inner loops come first. A
/// loop that can't become a single node has its `problem` set.
std::vector<std::unique_ptr<Loop>> findLoops(llvm::ArrayRef<mlir::Operation *> order);

} // namespace treadle::tfg
