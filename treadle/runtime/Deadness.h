// Under which predicates the values of a graph are alive. For who makes structured loops of v1
// loops.
#pragma once

#include "treadle/runtime/PlanBuilder.h"

#include <map>

namespace treadle::plan {

/// Finds for each node a set of conditions that must all hold for it to be alive: outcomes of
/// predicates, and "this Merge is alive" where nothing better is known. In a loop it speaks of the
/// first iteration. Equal sets mean that both are alive or both are dead; different sets mean
/// nothing.
class Deadness {
public:
  Deadness(const GraphSpec &graph, const std::vector<int32_t> &order);
  /// True if `b` is dead whenever `a` is.
  bool follows(int32_t b, int32_t a) { return join(ofNode[a], ofNode[b]) == ofNode[b]; }

private:
  /// That a node's value is `branch` (a predicate), or that it is alive (-1).
  using Condition = std::pair<int32_t, int32_t>;
  using Set = uint32_t; // into `sets`; 0: always alive

  Set intern(std::vector<Condition> conditions);
  Set join(Set a, Set b);
  Set with(Set a, Condition condition);
  Set without(Set a, Condition condition);
  Set ofOutput(Endpoint e);
  Set ofMerge(int32_t node);
  Set ofExit(int32_t node);
  int32_t predicateOf(int32_t switchNode) const;

  const GraphSpec &graph;
  std::vector<Set> ofNode; // a Switch: of either side
  std::vector<std::vector<Condition>> sets;
  std::map<std::vector<Condition>, Set> setNumbers;
  std::map<std::pair<Set, Set>, Set> joins;
};

} // namespace treadle::plan
