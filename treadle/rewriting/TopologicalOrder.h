// An order of nodes that edits keep topological, so that they find a cycle without a walk through
// all ancestors.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <list>
#include <vector>

namespace treadle::tfg {

/// Back edges of loops don't count as edges. An edge that agrees with the order costs nothing; for
/// another one, nodes between its ends are searched from both, until one search is complete (as in
/// Bender, Fineman, Gilbert and Tarjan, A New Approach to Incremental Cycle Detection, 2016).
class TopologicalOrder {
public:
  explicit TopologicalOrder(mlir::Block &nodes);

  /// Adds a node that nothing uses.
  void append(mlir::Operation *node);
  void erase(mlir::Operation *node);

  /// Whether a path leads from `from` to `to`, or they are the same node.
  bool precedes(mlir::Operation *from, mlir::Operation *to);
  /// Changes the order so that the edge agrees with it; false if the edge would close a cycle.
  bool addEdge(mlir::Operation *from, mlir::Operation *to);

  /// The number of edges that searches have followed.
  size_t followed() const { return numFollowed; }

private:
  struct Entry {
    mlir::Operation *node;
    uint64_t label; // grows along the list
  };
  using Place = std::list<Entry>::iterator;
  struct Between {
    bool isPath;
    /// Whether `nodes` are all between start and end that lead to the end, or that the start leads
    /// to.
    bool leadToEnd;
    std::vector<mlir::Operation *> nodes;
  };

  uint64_t labelOf(mlir::Operation *node) const { return places.at(node)->label; }
  uint64_t freeLabelAfter(Place place);
  /// Moves nodes right before a place, in the order that they have.
  void move(std::vector<mlir::Operation *> nodes, Place to);
  Between search(mlir::Operation *start, mlir::Operation *end);

  std::list<Entry> entries{{nullptr, 0}}; // the first one is no node
  llvm::DenseMap<mlir::Operation *, Place> places;
  size_t numFollowed = 0;
};

} // namespace treadle::tfg
