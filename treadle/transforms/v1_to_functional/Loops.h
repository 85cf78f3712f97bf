// The loops of v1 control flow in one body: which nodes run in which frame.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <vector>

namespace treadle::tfg {

/// One frame. Its Enter nodes bring values in, its Exit nodes take them out; both stand between two
/// frames, and are in neither list of nodes.
struct Loop {
  mlir::StringAttr frameName;
  Loop *parent = nullptr;
  std::vector<Loop *> children; // those that are still loops
  std::vector<mlir::Operation *> enters, exits, nodes;
  /// Why it can't be understood, and the node that shows it.
  std::string problem;
  mlir::Operation *culprit = nullptr;
  /// What enters it may depend on what leaves it.
  bool hasFeedback = false;

  void refuse(mlir::Operation *op, std::string why) {
    if (problem.empty())
      problem = std::move(why), culprit = op;
  }
  /// Calls `visit` for the nodes of this loop and of the loops in it, Enter and Exit nodes of those
  /// included.
  void forEachNode(llvm::function_ref<void(mlir::Operation *)> visit) const;
};

/// The op without "Ref" in front: what it does to control flow.
llvm::StringRef v1Kind(Node node);

/// The loops of a body, given in the order of its edges, each after those that stand in it. A loop
/// that can't be one node has its problem.
std::vector<std::unique_ptr<Loop>> findLoops(llvm::ArrayRef<mlir::Operation *> order);

} // namespace treadle::tfg
