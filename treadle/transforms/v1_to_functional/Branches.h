// The conditionals of v1 control flow in one body: the outcomes of predicates for which each node
// runs.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <vector>

namespace treadle::tfg {

struct Conditional;

/// The nodes that run for one outcome of a predicate, in a conditional that may itself be in a
/// branch.
struct Branch {
  Conditional *conditional = nullptr;
  unsigned side = 0;
  std::vector<mlir::Operation *> nodes;
  std::vector<Conditional *> conditionals; // the conditionals in it
};

/// The Switch and Merge nodes of one predicate on one device.
struct Conditional {
  Branch *parent = nullptr; // null if it isn't in a branch
  mlir::Value predicate;    // the value that Identity and Switch nodes forward
  /// The If or Case that it was lowered from, if any, so that two of them aren't merged.
  mlir::Attribute origin;
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

/// All branches of a body, and the innermost branch of each node; null for nodes that always run.
/// If a node depends on branches that aren't nested, or on both outcomes of one predicate,
/// `isUnstructured` returns true.
class Branches {
public:
  explicit Branches(mlir::Block &body);

  /// Returns all conditionals, inner ones before those that contain them.
  std::vector<Conditional *> innermostFirst() const;

  Branch *branchOf(mlir::Operation *op) const { return nodes.lookup(op); }
  Branch *branchOf(mlir::Value value) const;
  bool isUnstructured(mlir::Operation *op) const { return unstructured.contains(op); }
  /// Returns the conditional that a Switch belongs to; null for other nodes.
  Conditional *conditionalOf(mlir::Operation *op) const { return switches.lookup(op); }
  static bool isWithin(const Branch *inner, const Branch *outer);
  static mlir::Value rootOf(mlir::Value predicate);

  /// Adds a new node.
  void add(mlir::Operation *op, Branch *branch) {
    nodes[op] = branch;
    if (branch)
      branch->nodes.push_back(op);
  }

private:
  void place(Node node);
  void placeSwitch(Node node);
  void placeMerge(Node node);
  /// Sets `result` to the innermost branch of the inputs; returns false if the branches aren't
  /// nested.
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
