// Control edges moved from many nodes: each node that waits is tidied once, at the end.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace treadle::tfg {

/// What waits for a token waits for others instead, as with replaceControl; but a node that waits
/// for many tokens (a barrier) costs nothing more for each. Until finish() nodes may have a control
/// input twice.
class ControlMerger {
public:
  void replace(mlir::Value token, mlir::ValueRange replacements) {
    SoftEdges::follow(definingNode(token), replacements);
    auto isNoNode = [](mlir::Operation *op) { return !Node::isNode(op); };
    if (replacements.empty() || llvm::any_of(token.getUsers(), isNoNode))
      return replaceControl(token, replacements);
    llvm::SmallVector<mlir::Operation *> users(token.getUsers());
    token.replaceAllUsesWith(replacements.front());
    for (mlir::Operation *user : users) {
      // Nothing moves where there is room at the end.
      user->insertOperands(user->getNumOperands(), replacements.drop_front());
      touched.insert(user);
      gone.erase(user);
    }
  }
  /// The node goes, and need not be tidied.
  void forget(mlir::Operation *op) { gone.insert(op); }

  void finish() {
    for (mlir::Operation *op : touched)
      if (!gone.contains(op))
        dropRepeated(Node(op));
    touched.clear();
    gone.clear();
  }

private:
  static void dropRepeated(Node node) {
    llvm::SmallSetVector<mlir::Value, 8> tokens(node.control().begin(), node.control().end());
    if (tokens.size() < node.numControl())
      setControl(node, tokens.getArrayRef());
  }

  llvm::SetVector<mlir::Operation *> touched;
  llvm::DenseSet<mlir::Operation *> gone;
};

} // namespace treadle::tfg
