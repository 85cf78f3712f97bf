// Reverse-mode differentiation of straight-line code: visits the nodes of one body from last to
// first.
#pragma once

#include "treadle/gradients/GradientTable.h"
#include "treadle/gradients/SymbolicGradients.h"

#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

/// A value is *varying* if an x reaches it through ops that have gradients; gradients flow only to
/// varying values. Gradients that reach a value on several paths are added.
class Backpropagation {
public:
  enum class Dtypes {
    Differentiable, // floating point, complex, variants, and handles of variables
    AllButBool,     // the dtypes that TensorFlow's SymbolicGradient accepts
  };
  Backpropagation(mlir::Block &body, SymbolicGradients &library, Dtypes dtypes)
      : emitter(body), library(library), dtypes(dtypes) {}

  struct Request {
    mlir::ValueRange ys;
    mlir::ValueRange dys; // one for each y; null if it has none
    mlir::ValueRange xs;
    mlir::ValueRange stops; // gradients don't flow from these to their inputs
  };
  /// Adds nodes to the body that compute the gradients of the xs; null for an x without a gradient.
  /// Nodes that call functions are replaced by nodes with more results; see Replaced.
  Expected<Values> run(const Request &request);

  bool isVarying(mlir::Value value) const { return varying.contains(value); }
  /// Whether values of this dtype have gradients.
  bool hasGradient(mlir::Value value) const;

  /// Records that `fresh` replaced a node with these results, which was erased.
  void recordReplacement(llvm::ArrayRef<mlir::Value> oldResults, Node fresh);
  /// Returns the replacement of a value that existed before the run.
  mlir::Value current(mlir::Value value) const;

  Emitter emitter;
  SymbolicGradients &library;
  const Dtypes dtypes;

private:
  void findVarying(const Request &request, llvm::ArrayRef<Node> order);
  Expected<Values> inputGradients(const DifferentiatedNode &forward);
  Expected<void> propagate(Node node);
  void flow(mlir::Value to, mlir::Value gradient);
  /// Returns the sum of the value's gradients; null if it has none.
  mlir::Value total(mlir::Value value);

  llvm::DenseSet<mlir::Value> varying, stopped;
  llvm::DenseMap<mlir::Value, Values> flows;
  llvm::DenseMap<mlir::Value, mlir::Value> replacements;
};

/// Returns the nodes that the values depend on in topological order (arbitrary within cycles).
std::vector<Node> neededNodes(mlir::ValueRange values);

/// Whether the table lists the op with inputs that count as constant.
bool hasConstantInputs(Node node);

} // namespace treadle::tfg
