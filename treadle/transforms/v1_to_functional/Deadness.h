// Deadness analysis: the predicates under which the values of a body are alive. It serves the
// conversion of v1 loops to structured loops.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <vector>

namespace treadle::tfg {

/// Computes for each node a set of conditions that must all hold for it to be alive: outcomes of
/// predicates, and "this Merge is alive" if nothing more precise is known. In a loop, it describes
/// the first iteration. Nodes with equal sets are always alive or dead together; different sets
/// have no meaning.
///
/// The analysis describes the body at construction, and new nodes that are added to it.
class Deadness {
public:
  /// A conjunction of conditions; 0: always alive.
  using Set = uint32_t;

  /// `order` is the result of topologicalOrder() for the body.
  explicit Deadness(llvm::ArrayRef<mlir::Operation *> order);

  /// Returns false if the body can't be analyzed: a node of v1 control flow lacks inputs or outputs
  /// of its op, or there is a cycle outside of loops.
  bool isKnown() const { return isRightForm; }
  Set of(mlir::Value value);
  /// Returns the conditions of a node; for a Switch, those of both outputs.
  Set of(mlir::Operation *op) const { return ofNode.lookup(op); }
  Set join(Set a, Set b);
  /// Returns whether the conditions of `b` include `a`, so that a node with `b` is dead whenever
  /// one with `a` is.
  bool includes(Set b, Set a) { return join(a, b) == b; }
  void set(mlir::Operation *made, Set set) { ofNode[made] = set; }

private:
  /// A predicate with an outcome, or a Merge or Exit that is alive (outcome -1).
  using Condition = std::pair<const void *, int32_t>;

  bool mayFollow(Node node) const;
  Set intern(std::vector<Condition> conditions);
  Set without(Set a, Condition condition);
  Set aliveItself(Node node) { return intern({{node.getOperation(), -1}}); }
  Set find(Node node);
  Set ofMerge(Node node);
  std::optional<Set> commonConditions(llvm::ArrayRef<Set> inputs);
  Set ofExit(Node node);

  bool isRightForm = true;
  llvm::DenseMap<mlir::Operation *, Set> ofNode;
  llvm::DenseMap<const void *, unsigned> numSides; // of predicates
  std::vector<std::vector<Condition>> sets;
  std::map<std::vector<Condition>, Set> setNumbers;
  std::map<std::pair<Set, Set>, Set> joins;
};

} // namespace treadle::tfg
