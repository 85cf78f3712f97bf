// Under which predicates the values of a body are alive. For who makes structured loops of v1
// loops.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <vector>

namespace treadle::tfg {

/// Finds for each node a set of conditions that must all hold for it to be alive: outcomes of
/// predicates, and "this Merge is alive" where nothing better is known. In a loop it speaks of the
/// first iteration. Equal sets mean that both are alive or both are dead; different sets mean
/// nothing.
///
/// It speaks of the body as it was, and of nodes made later that it is told of.
class Deadness {
public:
  /// Conditions that must all hold; 0: none, always alive.
  using Set = uint32_t;

  /// `order`: the body's, as topologicalOrder() gives it.
  explicit Deadness(llvm::ArrayRef<mlir::Operation *> order);

  /// False if nothing can be said, or done, with the body: a node of v1 control flow lacks inputs
  /// or outputs that its op has, or there is a cycle outside of loops.
  bool isKnown() const { return isRightForm; }
  Set of(mlir::Value value);
  /// A Switch: of either side.
  Set of(mlir::Operation *op) const { return ofNode.lookup(op); }
  Set join(Set a, Set b);
  /// Whether `a` is among the conditions of `b`: then what has `b` is dead whenever `a` is.
  bool includes(Set b, Set a) { return join(a, b) == b; }
  void set(mlir::Operation *made, Set set) { ofNode[made] = set; }

private:
  /// That a predicate has an outcome, or that a Merge or an Exit is alive (-1).
  using Condition = std::pair<const void *, int32_t>;

  bool mayFollow(Node node) const;
  Set intern(std::vector<Condition> conditions);
  Set without(Set a, Condition condition);
  Set aliveItself(Node node) { return intern({{node.getOperation(), -1}}); }
  Set find(Node node);
  Set ofMerge(Node node);
  std::optional<Set> whereSidesMeet(llvm::ArrayRef<Set> inputs);
  Set ofExit(Node node);

  bool isRightForm = true;
  llvm::DenseMap<mlir::Operation *, Set> ofNode;
  llvm::DenseMap<const void *, unsigned> numSides; // of predicates
  std::vector<std::vector<Condition>> sets;
  std::map<std::vector<Condition>, Set> setNumbers;
  std::map<std::pair<Set, Set>, Set> joins;
};

} // namespace treadle::tfg
