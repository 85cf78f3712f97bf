// Internal: determines which nodes of a graph run together.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/DenseMap.h"

#include <string>
#include <vector>

namespace treadle {

/// The runs that callers request of a graph. Invalid once the graph changes.
class Runs {
public:
  /// Adds a run that requests these nodes; `name` describes it in messages.
  void add(std::string name, llvm::ArrayRef<mlir::Operation *> asked);
  /// Returns the runs of a graph without declared runs: each node without users is requested by a
  /// run of its own. Nodes that only cycles use belong to one more run.
  static Runs ofSinks(mlir::Block &graph);

  bool shareRun(mlir::Operation *a, mlir::Operation *b) const;
  /// Returns the name of a run that includes `node` but not `other`; empty if there is none.
  std::string runWithout(mlir::Operation *node, mlir::Operation *other) const;

  const std::vector<std::string> &names() const { return allNames; }

private:
  using Numbers = llvm::SmallVector<unsigned, 2>;
  /// Returns the numbers of the runs that need a node, in ascending order.
  const Numbers &runsOf(mlir::Operation *op) const;

  std::vector<std::string> allNames;
  llvm::DenseMap<mlir::Operation *, Numbers> requestedBy;
  bool hasCycles = false;
  mutable llvm::DenseMap<mlir::Operation *, Numbers> known;
};

} // namespace treadle
