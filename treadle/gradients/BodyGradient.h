// The gradient of a function's body, split into what the function computes beside its results and
// what computes the gradients from that.
#pragma once

#include "treadle/gradients/Backpropagation.h"
#include "treadle/rewriting/Outline.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace treadle::tfg {

/// Works on a copy of a function:
///
///     BodyGradient body(b, function, outerArguments);
///     body.differentiate(varyingArguments, dyTypes);   // nodes are added to the copy
///     body.split();                                     // and told apart
///     Outline backward = ...;                           // map body.dys and body.captures()
///     body.cloneBackward(backward);
///     backward.finish(...);
///     body.removeBackward();                            // the copy is left with forward nodes
///
/// then the copy gets its further results.
class BodyGradient {
public:
  /// `outer` are the values that the arguments get where the function is run.
  BodyGradient(Backpropagation &b, FuncOp original, mlir::ValueRange outer);

  /// `dyTypes` are the types of the gradients of the results, null where there is none.
  Expected<void> differentiate(const llvm::BitVector &arguments, mlir::TypeRange dyTypes);
  /// Zeros where an argument has no gradient.
  void fillZeros(const llvm::BitVector &arguments);
  void split();
  /// Values of the copy that the gradients are computed from, each once: arguments, and results of
  /// nodes that are no constants.
  llvm::ArrayRef<mlir::Value> captures() const { return captured.getArrayRef(); }
  /// Clones the nodes that compute the gradients, and the constants they use.
  void cloneBackward(Outline &backward);
  /// Removes those nodes from the copy, and the arguments for the dys. The outline is finished.
  void removeBackward();
  /// The value in the outline that is the gradient of an argument.
  mlir::Value gradient(const Outline &backward, unsigned argument) const;

  FuncOp function;
  Backpropagation backpropagation;
  Values dys; // for each result; null where it has no gradient
  Values dxs; // for each argument; null where it has none

private:
  void capture(mlir::Value value);

  std::vector<Node> backward; // each after what it uses
  std::vector<mlir::Operation *> emittedForward;
  llvm::DenseSet<mlir::Value> backwardValues;
  llvm::SetVector<mlir::Value> captured;
  llvm::SetVector<mlir::Operation *> constants;
  llvm::DenseMap<mlir::Value, mlir::Value> known; // a backward node's operand: what is captured
  unsigned numArguments;
};

/// The value behind Identity nodes.
mlir::Value throughIdentity(mlir::Value value);

} // namespace treadle::tfg
