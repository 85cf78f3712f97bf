// The conditionals of v1 control flow in one body: which nodes run for which outcome of which
// predicates.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <vector>

namespace treadle::tfg {

struct Conditional;

/// What runs if a predicate has one outcome, in a conditional that may stand in a branch itself.
struct Branch {
  Conditional *conditional = nullptr;
  unsigned side = 0;
  std::vector<mlir::Operation *> nodes;
  std::vector<Conditional *> conditionals; // those that stand in it
};

/// Switch and Merge nodes of one predicate, in one place.
struct Conditional {
  Branch *parent = nullptr; // null: not in a branch
  mlir::Value predicate;    // what Identity and Switch nodes hand on
  mlir::Attribute origin;   // the If or Case that it was made of, if any: two stay two
  unsigned depth = 0;
  std::vector<Branch *> branches;
  std::vector<mlir::Operation *> switches, merges;
  std::string problem;
  mlir::Operation *culprit = nullptr;
  bool isConverted = false;

  void refuse(mlir::Operation *op, std::string why) {
    if (problem.empty())
      problem = std::move(why), culprit = op;
  }
};

/// All branches of a body, and the branch of each node: the innermost one, null for nodes that
/// always run. A node may depend on branches that don't stand in each other, or on both outcomes of
/// one predicate: that is no conditional, and `isUnstructured` says so.
class Branches {
public:
  explicit Branches(mlir::Block &body);

  /// Those that stand in others come first.
  std::vector<Conditional *> innermostFirst() const;

  Branch *branchOf(mlir::Operation *op) const { return nodes.lookup(op); }
  Branch *branchOf(mlir::Value value) const;
  bool isUnstructured(mlir::Operation *op) const { return unstructured.contains(op); }
  /// The conditional that a Switch belongs to, null for other nodes.
  Conditional *conditionalOf(mlir::Operation *op) const { return switches.lookup(op); }
  static bool isWithin(const Branch *inner, const Branch *outer);
  static mlir::Value rootOf(mlir::Value predicate);

  /// A new node.
  void add(mlir::Operation *op, Branch *branch) {
    nodes[op] = branch;
    if (branch)
      branch->nodes.push_back(op);
  }

private:
  void place(Node node);
  void placeSwitch(Node node);
  void placeMerge(Node node);
  /// The innermost branch of the inputs; false if there is none.
  bool innermost(Node node, Branch *&result);
  Conditional *conditionalAt(Branch *parent, mlir::Value predicate, Node node);
  void markUnstructured(mlir::Operation *op);

  std::vector<std::unique_ptr<Conditional>> all;
  std::vector<std::unique_ptr<Branch>> branches;
  llvm::DenseMap<std::tuple<Branch *, mlir::Value, mlir::Attribute>, Conditional *> byPredicate;
  llvm::DenseMap<mlir::Operation *, Branch *> nodes;
  llvm::DenseMap<mlir::Operation *, Conditional *> switches;
  llvm::DenseSet<mlir::Operation *> unstructured;
};

} // namespace treadle::tfg
