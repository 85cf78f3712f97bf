// Reverse-mode differentiation of straight code: the nodes of one body, last to first.
#pragma once

#include "treadle/gradients/GradientTable.h"
#include "treadle/gradients/SymbolicGradients.h"

#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

/// The values that an x reaches by way of ops that have gradients are *varying*: gradients flow to
/// those alone. Gradients that reach a value by several ways are added.
class Backpropagation {
public:
  enum class Dtypes {
    Differentiable, // floating point, complex, variants, and handles of variables
    AllButBool,     // what TensorFlow's SymbolicGradient lets pass
  };
  Backpropagation(mlir::Block &body, SymbolicGradients &library, Dtypes dtypes)
      : emitter(body), library(library), dtypes(dtypes) {}

  struct Request {
    mlir::ValueRange ys;
    mlir::ValueRange dys; // one for each y; null: none flows from it
    mlir::ValueRange xs;
    mlir::ValueRange stops; // nothing flows through these to what they are computed from
  };
  /// Adds nodes to the body that compute the gradients of the xs: null where there is none. Nodes
  /// that run functions are replaced by ones that give more results; see Replaced.
  Expected<Values> run(const Request &request);

  bool isVarying(mlir::Value value) const { return varying.contains(value); }
  /// Whether values of this dtype have gradients.
  bool hasGradient(mlir::Value value) const;

  /// Says that `fresh` stands in the place of a node with these results, which is gone.
  void moved(llvm::ArrayRef<mlir::Value> oldResults, Node fresh);
  /// What has been put in the place of a value that was there before the run.
  mlir::Value current(mlir::Value value) const;

  Emitter emitter;
  SymbolicGradients &library;
  const Dtypes dtypes;

private:
  void findVarying(const Request &request, llvm::ArrayRef<Node> order);
  Expected<Values> inputGradients(const Forward &forward);
  Expected<void> propagate(Node node);
  void flow(mlir::Value to, mlir::Value gradient);
  /// The sum of what flowed to the value, null if nothing did.
  mlir::Value total(mlir::Value value);

  llvm::DenseSet<mlir::Value> varying, stopped;
  llvm::DenseMap<mlir::Value, Values> flows;
  llvm::DenseMap<mlir::Value, mlir::Value> replacements;
};

/// The nodes that the values need, each after what it uses (on a cycle, somewhere).
std::vector<Node> neededNodes(mlir::ValueRange values);

/// Whether the op is in the table, and what it says is that its inputs count as constant.
bool hasConstantInputs(Node node);

} // namespace treadle::tfg
