// Internal: which nodes of a graph run together.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/DenseMap.h"

#include <string>
#include <vector>

namespace treadle {

/// The runs that callers make of a graph, each told by what it asks for. Of no use once the graph
/// changed.
class Runs {
public:
  /// A run that asks for these nodes together, and what people call it.
  void add(std::string name, llvm::ArrayRef<mlir::Operation *> asked);
  /// Of a graph about which nobody said what runs ask for: each node that no other uses is asked
  /// for by itself. What only nodes in a circle use counts as one more run.
  static Runs ofEnds(mlir::Block &graph);

  bool haveTogether(mlir::Operation *a, mlir::Operation *b) const;
  /// The name of a run that has `node`, but not `other`; empty if there is none.
  std::string withOnly(mlir::Operation *node, mlir::Operation *other) const;

  const std::vector<std::string> &names() const { return allNames; }

private:
  using Numbers = llvm::SmallVector<unsigned, 2>;
  /// Of the runs that need a node: ascending.
  const Numbers &runsOf(mlir::Operation *op) const;

  std::vector<std::string> allNames;
  llvm::DenseMap<mlir::Operation *, Numbers> askedBy;
  bool hasCircles = false;
  mutable llvm::DenseMap<mlir::Operation *, Numbers> known;
};

} // namespace treadle
