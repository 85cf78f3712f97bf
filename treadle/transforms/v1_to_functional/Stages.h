// One conditional and what it consists of, cut into stages: nodes of the branches may depend on
// what the conditional gives, by a way outside of it (as those of a gradient do); then it is more
// than one If.
#pragma once

#include "treadle/transforms/v1_to_functional/Body.h"

namespace treadle::tfg {

class Stages {
public:
  Stages(Body &body, Conditional &conditional);

  unsigned count() const { return numStages; }
  unsigned stageOf(mlir::Operation *op) const { return stages.lookup(op); }
  bool isMerge(mlir::Operation *op) const { return mergeSet.contains(op); }
  bool isMember(mlir::Operation *op) const { return sides.contains(op); }
  bool isInside(mlir::Operation *op) const { return isMember(op) || isMerge(op); }
  unsigned sideOf(mlir::Operation *op) const { return sides.lookup(op); }
  bool isOwnSwitch(mlir::Operation *op) const {
    return op && body.branches.conditionalOf(op) == &conditional;
  }
  /// Whether a value needs, or might need, what the conditional gives.
  bool mayDependOnIt(mlir::Value value) const;

  /// Cuts, once `members` are known.
  void find();
  /// Gives the nodes that stand for stages (null where one has none) their positions.
  void place(llvm::ArrayRef<mlir::Operation *> replacements);

  llvm::SmallVector<mlir::Operation *> members; // live nodes of the branches, in order
  llvm::SmallVector<mlir::Operation *> doomed;  // all nodes of the branches

private:
  void collect(Branch *branch, unsigned side);
  void findByPosition();
  unsigned stageByPosition(mlir::Operation *op);
  void placeByPaths(llvm::ArrayRef<mlir::Operation *> replacements);
  bool givesOutside(mlir::Operation *op) const;
  void findByPaths();
  void sinkPureNodes();

  Body &body;
  Conditional &conditional;
  llvm::DenseMap<mlir::Operation *, unsigned> sides;
  llvm::DenseSet<mlir::Operation *> mergeSet;
  llvm::DenseMap<mlir::Operation *, unsigned> stages;
  unsigned numStages = 1;
  unsigned low = UINT_MAX, high = 0; // positions of the first and the last node
  bool isByPaths = false;
  /// The position of the first node of each stage that others outside use, or of the last one of
  /// all in the last stage: there all that the stage needs is known, and nothing that it gives is
  /// used yet.
  std::vector<unsigned> places;
};

} // namespace treadle::tfg
