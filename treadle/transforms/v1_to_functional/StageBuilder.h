// One stage of a conditional made an If or a Case: first with regions, then with a function for
// each branch.
#pragma once

#include "treadle/transforms/v1_to_functional/Stages.h"

#include "llvm/ADT/SetVector.h"

namespace treadle::tfg {

/// What the stages of a conditional have in common.
struct StagedConditional {
  mlir::Value predicate;
  Deadness::Set inputs = 0; // where all that it takes is alive
  llvm::SmallVector<mlir::Value> predicateTokens;
  llvm::DenseMap<mlir::Value, mlir::Value> crossing; // values of earlier stages: results
};

class StageBuilder {
public:
  StageBuilder(Body &body, Conditional &conditional, const Stages &stages,
               StagedConditional &shared, unsigned stage)
      : body(body), conversion(body.conversion), conditional(conditional), stages(stages),
        shared(shared), stage(stage) {}

  /// Null where the stage is empty.
  Node build();

private:
  /// Something from outside, as the node takes it: each value once, unless an If or a Case that the
  /// conditional was made of had it twice.
  using Input = std::pair<mlir::Value, mlir::Attribute>;

  bool isOfStage(mlir::Operation *op) const {
    return stages.isInside(op) && stages.stageOf(op) == stage;
  }
  bool isIf() const;
  bool isPivot(mlir::Operation *op) const;
  Input outside(mlir::Value value) const;

  void findNodes();
  void findInputs();
  void findTokens();
  void findPassedOn();
  void capture(mlir::Value value);
  void waitFor(mlir::Value token);

  void findTypes();
  std::string baseName() const;
  Node raise(llvm::StringRef base);
  void nameFunctions(Node raised, llvm::StringRef base);
  void fillBranch(mlir::Region &region, const Branch &branch);
  void moveNodes(mlir::Block &block, const Branch &branch);
  void takeBack(Node raised);
  mlir::Value inside(mlir::Value value) const;
  mlir::Value resultOf(Node merge, const Branch &branch) const {
    return inside(merge.data()[inputOf(merge, branch)]);
  }
  unsigned inputOf(Node merge, const Branch &branch) const;
  bool hasIndex(Node merge) const {
    return !merge.results()[1].use_empty() || conversion.isKept(merge);
  }
  void replace();
  void replaceMerge(Node merge, mlir::Value result, mlir::Value index);
  Node handOn(Node merge, mlir::Value result, mlir::Value index);

  Body &body;
  Conversion &conversion;
  Conditional &conditional;
  const Stages &stages;
  StagedConditional &shared;
  unsigned stage;
  llvm::SetVector<mlir::Operation *> members;
  llvm::SmallVector<mlir::Operation *> merges, ends;
  llvm::SetVector<mlir::Value> inner; // what branches see of outside, as they see it
  llvm::SetVector<Input> captured;    // the same as it is outside
  llvm::SmallVector<mlir::Value> inputs;
  llvm::DenseSet<mlir::Value> inputSet;
  llvm::SetVector<mlir::Value> tokens;
  llvm::SmallVector<mlir::Value> passedOn; // values that later stages need
  llvm::SmallVector<mlir::Type> types;
  Node node;
};

} // namespace treadle::tfg
