// Detection of races: nodes with conflicting accesses to one resource that no path of edges orders.
#pragma once

#include "treadle/analysis/effects/Effects.h"

namespace treadle::tfg {

/// Two nodes of a graph that may run in either order with different results; or one node twice, in
/// a loop whose iterations may overlap.
struct Race {
  Node first, second;
  ResourceId resource;
  bool firstWrites, secondWrites;
  /// Empty where they race in one run of the graph or one iteration; else the loop's frame: what
  /// Empty if they race within one run of the graph or one iteration. Otherwise the frame of the
  /// loop in which an iteration of one races with the next iteration of the other.
  std::string frame;
};

/// Finds the races among the nodes of a graph, in its order; at most `limit`. Bodies of functions
/// are ordered automatically and have no races. Nodes that depend on different outputs of one
/// Switch never run together. A path through a back edge of a loop orders consecutive iterations;
/// if parallel_iterations is 1, all iterations are ordered. With `counts`, returns only pairs for
/// which it returns true. Visits at most `maxRacePairs` unordered pairs, and sets `endedEarly` (if
/// not null) if there are more.
std::vector<Race> findRaces(GraphOp graph, const EffectAnalysis &effects, size_t limit = 1000,
                            llvm::function_ref<bool(Node, Node)> counts = {},
                            bool *endedEarly = nullptr);
inline constexpr size_t maxRacePairs = 1 << 20;

} // namespace treadle::tfg
