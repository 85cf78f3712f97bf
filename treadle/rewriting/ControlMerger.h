// Replacement of control tokens of many nodes at once.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace treadle::tfg {

/// Replaces uses of a token with other tokens, like replaceControl, but at constant cost per token
/// for a node with many control inputs (a barrier). Until finish(), nodes may have duplicate
/// control inputs.
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
      // Inserting at the end moves no operands.
      user->insertOperands(user->getNumOperands(), replacements.drop_front());
      touched.insert(user);
      gone.erase(user);
    }
  }
  /// Call this for a node that is going to be erased.
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
