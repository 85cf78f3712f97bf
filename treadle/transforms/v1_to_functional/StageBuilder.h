// Conversion of one stage of a conditional to an If or Case: first with regions, then with a
// function for each branch.
#pragma once

#include "treadle/transforms/v1_to_functional/Stages.h"

#include "llvm/ADT/SetVector.h"

namespace treadle::tfg {

/// The facts that the stages of a conditional share.
struct StagedConditional {
  mlir::Value predicate;
  Deadness::Set inputs = 0; // the conditions under which all of its inputs are alive
  llvm::SmallVector<mlir::Value> predicateTokens;
  llvm::DenseSet<mlir::Operation *> pivots; // nodes without uses of their values
  using NodeLists = std::vector<llvm::SmallVector<mlir::Operation *>>;
  NodeLists members, merges; // for each stage, its nodes
  NodeLists switches;        // for each stage, the Switches whose values it uses
  /// For a Merge, the index of its input from each branch.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> mergeInputs;
};

/// Returns whether the node is the Merge that signals the end of an If or Case without results.
bool isEnd(mlir::Operation *op);

class StageBuilder {
public:
  StageBuilder(BodyConversion &body, Conditional &conditional, const Stages &stages,
               const StagedConditional &shared, unsigned stage);

  /// Returns null if the stage is empty.
  Node build();

private:
  bool isIf() const;
  void findPassedOn();
  void findTypes();
  std::string baseName() const;
  Node raise(llvm::StringRef base);
  void nameFunctions(Node raised, llvm::StringRef base);
  void fillBranch(mlir::Region &region, const Branch &branch);
  void moveNodes(mlir::Block &block, const Branch &branch);
  void takeBack(Node raised);
  llvm::SmallVector<mlir::Value> tokens();
  llvm::SmallVector<mlir::Value> inputs();
  mlir::Value resultOf(Node merge, const Branch &branch) const {
    return merge.data()[inputOf(merge, branch)];
  }
  unsigned inputOf(Node merge, const Branch &branch) const {
    return shared.mergeInputs.find(merge.getOperation())->second[branch.side];
  }
  bool hasIndex(Node merge) const {
    return !merge.results()[1].use_empty() || conversion.isKept(merge);
  }
  void replace();
  void replaceMerge(Node merge, mlir::Value result, mlir::Value index);
  Node forwardValues(Node merge, mlir::Value result, mlir::Value index);

  BodyConversion &body;
  Conversion &conversion;
  Conditional &conditional;
  const Stages &stages;
  const StagedConditional &shared;
  unsigned stage;
  llvm::ArrayRef<mlir::Operation *> members;
  llvm::SmallVector<mlir::Operation *> merges, ends;
  llvm::SmallVector<mlir::Value> passedOn; // values that later stages need
  llvm::SmallVector<mlir::Type> types;
  Node node;
};

} // namespace treadle::tfg
