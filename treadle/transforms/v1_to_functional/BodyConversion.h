// A body during the conversion of its conditionals, innermost first.
#pragma once

#include "treadle/transforms/v1_to_functional/Branches.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"
#include "treadle/transforms/v1_to_functional/Deadness.h"

#include <optional>

namespace treadle::tfg {

/// The nodes of a converted conditional are erased at the end; until then they have no uses and
/// aren't live.
///
/// Nodes have positions in topological order. Positions are computed once; a replacement gets a
/// position of the nodes that it replaces. Nodes that forward results of a new node have no
/// position.
class BodyConversion {
public:
  BodyConversion(Conversion &conversion, mlir::Block &block);

  /// Returns whether a node must run and wasn't converted.
  bool isLive(mlir::Operation *op) const { return needed.contains(op) && !dead.contains(op); }
  /// Returns 0 if the operation isn't a node of the body.
  unsigned positionOf(mlir::Operation *op) const { return position.lookup(op); }
  /// Returns null if the node at this position is gone.
  mlir::Operation *at(unsigned position) const { return order[position]; }
  void place(mlir::Operation *op, unsigned slot) {
    order[slot] = op;
    position[op] = slot;
  }
  /// Returns whether a node is in a loop that can't be converted because its inputs depend on its
  /// own results. In such a loop, nodes can't be merged into one.
  bool isInFeedback(mlir::Operation *op) const { return inFeedback.contains(op); }
  void clear(unsigned slot) { order[slot] = nullptr; }
  /// Returns the node that defines a value, or whose result that node forwards; null for arguments.
  mlir::Operation *sourceOf(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp(), *source = handedOn.lookup(op);
    return source ? source : op;
  }

  void add(mlir::Operation *op, Branch *branch);
  void addHandingOn(mlir::Operation *op, mlir::Operation *source);
  /// Marks a node that was moved into a branch of another node.
  void moved(mlir::Operation *op) { dead.insert(op); }
  void kill(mlir::Operation *op);
  void eraseDead();

  /// Returns whether the search may visit this number of additional positions. The total is limited
  /// in proportion to the size of the body.
  bool mayVisit(unsigned positions);

  Conversion &conversion;
  mlir::Block &block;
  Branches branches;
  NameScope names;
  /// Set if the body has loops that stay, because values in them may be dead for other reasons than
  /// branches.
  std::optional<Deadness> deadness;

private:
  void findNeeded();

  std::vector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> handedOn;
  llvm::DenseSet<mlir::Operation *> needed, dead, inFeedback;
  size_t remainingVisits;
};

} // namespace treadle::tfg
