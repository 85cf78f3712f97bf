// A body while its conditionals are converted, innermost first.
#pragma once

#include "treadle/transforms/v1_to_functional/Branches.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"
#include "treadle/transforms/v1_to_functional/Deadness.h"

#include <optional>

namespace treadle::tfg {

/// What conditionals consisted of is erased at the end: until then it has no uses, and is not live.
///
/// Nodes have positions: what a node uses stands before it. They are found once; what takes the
/// place of others gets one of theirs. Nodes that hand on results of one that was made have none of
/// their own.
class Body {
public:
  Body(Conversion &conversion, mlir::Block &block);

  /// Whether a node has to run, and wasn't converted.
  bool isLive(mlir::Operation *op) const { return needed.contains(op) && !dead.contains(op); }
  /// 0 for what is no node of the body.
  unsigned positionOf(mlir::Operation *op) const { return position.lookup(op); }
  /// Null where nothing stands any more.
  mlir::Operation *at(unsigned position) const { return order[position]; }
  void place(mlir::Operation *op, unsigned slot) {
    order[slot] = op;
    position[op] = slot;
  }
  /// Whether a node is in a loop that stays because what enters it depends on what leaves it: there
  /// one node can't have the inputs of several.
  bool isInFeedback(mlir::Operation *op) const { return inFeedback.contains(op); }
  void clear(unsigned slot) { order[slot] = nullptr; }
  /// The node that gives a value, or the one whose result that hands on; null for arguments.
  mlir::Operation *sourceOf(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp(), *source = handedOn.lookup(op);
    return source ? source : op;
  }

  void add(mlir::Operation *op, Branch *branch);
  void addHandingOn(mlir::Operation *op, mlir::Operation *source);
  /// Of a node that stands in a branch of another one from now on.
  void moved(mlir::Operation *op) { dead.insert(op); }
  void kill(mlir::Operation *op);
  void eraseDead();

  /// Whether so many more positions may be looked at: all looking there is stays in proportion to
  /// the size of the body.
  bool mayLookAt(unsigned positions);

  Conversion &conversion;
  mlir::Block &block;
  Branches branches;
  NameScope names;
  /// Where the body has loops that stay: in them more than branches is dead at times.
  std::optional<Deadness> deadness;

private:
  void findNeeded();

  std::vector<mlir::Operation *> order;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> handedOn;
  llvm::DenseSet<mlir::Operation *> needed, dead, inFeedback;
  size_t looksLeft;
};

} // namespace treadle::tfg
