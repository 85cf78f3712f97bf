// Races: nodes of a graph with conflicting effects on one resource that no path of edges orders.
#pragma once

#include "treadle/analysis/effects/Effects.h"

namespace treadle::tfg {

/// Two nodes of a graph, in its order, that may run in either order and give something else then;
/// or one node twice, where it is in a loop whose iterations may overlap.
struct Race {
  Node first, second;
  ResourceId resource;
  bool firstWrites, secondWrites;
  /// Empty where they race in one run of the graph or one iteration; else the loop's frame: what
  /// isn't ordered is one's iteration and the other's next.
  std::string frame;
};

/// The races among the nodes of a graph, in its order; at most `limit`. The bodies of functions
/// have an order of their own, and none. What stands under both sides of one Switch never runs
/// together. Loops are taken as the edges show them: a path through a back edge of a loop orders an
/// iteration and the next, and one whose parallel_iterations is 1 orders all.
/// With `counts` only those for which it says so. Of a graph with very many nodes that nothing
/// orders, the first `mostRacePairs` pairs are looked at; `endedEarly` then becomes true, if it is
/// given.
std::vector<Race> findRaces(GraphOp graph, const EffectAnalysis &effects, size_t limit = 1000,
                            llvm::function_ref<bool(Node, Node)> counts = {},
                            bool *endedEarly = nullptr);
inline constexpr size_t mostRacePairs = 1 << 20;

} // namespace treadle::tfg
