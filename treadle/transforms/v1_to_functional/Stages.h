// The stages of a conditional. Nodes of its branches may depend on its results through paths
// outside of it, as in gradients; then it becomes several Ifs.
#pragma once

#include "treadle/transforms/v1_to_functional/BodyConversion.h"

namespace treadle::tfg {

class Stages {
public:
  Stages(BodyConversion &body, Conditional &conditional);

  unsigned count() const { return numStages; }
  unsigned stageOf(mlir::Operation *op) const { return stages.lookup(op); }
  bool isMerge(mlir::Operation *op) const { return mergeSet.contains(op); }
  bool isMember(mlir::Operation *op) const { return sides.contains(op); }
  bool isInside(mlir::Operation *op) const { return isMember(op) || isMerge(op); }
  unsigned sideOf(mlir::Operation *op) const { return sides.lookup(op); }
  bool isOwnSwitch(mlir::Operation *op) const {
    return op && body.branches.conditionalOf(op) == &conditional;
  }
  /// Returns whether a value depends, or may depend, on results of the conditional.
  bool mayDependOnIt(mlir::Value value) const;

  /// Computes the stages. `members` must be set.
  void find();
  /// Assigns positions to the nodes that replace the stages (null for empty stages).
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

  BodyConversion &body;
  Conditional &conditional;
  llvm::DenseMap<mlir::Operation *, unsigned> sides;
  llvm::DenseSet<mlir::Operation *> mergeSet;
  llvm::DenseMap<mlir::Operation *, unsigned> stages;
  unsigned numStages = 1;
  unsigned low = UINT_MAX, high = 0; // positions of the first and the last node
  bool isByPaths = false;
  /// For each stage, the position of the first of its nodes with outside users; for the last stage,
  /// of the last node of all. There, all inputs of the stage are available, and none of its results
  /// is used yet.
  std::vector<unsigned> places;
};

} // namespace treadle::tfg
