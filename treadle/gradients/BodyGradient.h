// The gradient of a function's body, split into values that the forward function computes
// additionally and the backward computation that uses them.
#pragma once

#include "treadle/gradients/Backpropagation.h"
#include "treadle/rewriting/Outline.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace treadle::tfg {

/// Works on a copy of a function:
///
///   BodyGradient body(b, function, outerArguments);
///   body.differentiate(varyingArguments, dyTypes);   // adds nodes to the copy
///   body.split();                                    // separates forward from backward nodes
///   Outline backward = ...;                          // map body.dys and body.captures()
///   body.cloneBackward(backward);
///   backward.finish(...);
///   body.removeBackward();                           // the copy keeps its forward nodes
///
/// Then the additional results are added to the copy.
class BodyGradient {
public:
  /// `outer` are the values that the arguments have where the function is called.
  BodyGradient(Backpropagation &b, FuncOp original, mlir::ValueRange outer);

  /// `dyTypes` are the types of the gradients of the results; null for results without one.
  Expected<void> differentiate(const llvm::BitVector &arguments, mlir::TypeRange dyTypes);
  /// Fills in zeros for arguments without a gradient.
  void fillZeros(const llvm::BitVector &arguments);
  void split();
  /// Values of the copy that the gradients are computed from, without duplicates: arguments, and
  /// results of nodes that aren't constants.
  llvm::ArrayRef<mlir::Value> captures() const { return captured.getArrayRef(); }
  /// Clones the nodes that compute the gradients, and the constants that they use.
  void cloneBackward(Outline &backward);
  /// Removes those nodes and the arguments for the dys from the copy. The outline must be finished.
  void removeBackward();
  /// Returns the value in the outline that is the gradient of an argument.
  mlir::Value gradient(const Outline &backward, unsigned argument) const;

  FuncOp function;
  Backpropagation backpropagation;
  Values dys; // for each result; null if it has no gradient
  Values dxs; // for each argument; null if it has none

private:
  void capture(mlir::Value value);

  std::vector<Node> backward; // in topological order
  std::vector<mlir::Operation *> emittedForward;
  llvm::DenseSet<mlir::Value> backwardValues;
  llvm::SetVector<mlir::Value> captured;
  llvm::SetVector<mlir::Operation *> constants;
  llvm::DenseMap<mlir::Value, mlir::Value> known; // the captured value of a backward node's operand
  unsigned numArguments;
};

/// Looks through Identity nodes.
mlir::Value lookThroughIdentities(mlir::Value value);

} // namespace treadle::tfg
