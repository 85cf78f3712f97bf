// What is wrong with a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// Something that `check` finds.
struct Problem {
  /// `error`, `race`, `note` where nothing is wrong, or `unfinished` where the search for races
  /// ended before it had seen all.
  std::string kind;
  std::vector<std::string> nodes;
  std::string message;
  /// Of a race: what runs the second node without the first, and would run both if an edge let the
  /// second wait for the first; empty: nothing that is known.
  std::string secondAlone = {};
};
/// What is wrong with a graph that could be read: nodes that aren't what their ops' definitions
/// say; what refuses each run, told by making its plan; and races, which are nodes with conflicting
/// effects on one resource that no path of edges orders. Nodes that no run has together don't race.
/// With names asked for (`x:0`, `x`) there is one run, of what these need. Without names, a
/// SavedModel's runs are its signatures, and what initializes, saves and restores it; a signature
/// that names what isn't there is an error. Of a plain graph each node that no other uses counts as
/// a run of its own, such as an initializer or a step; a note says so where that leaves races out.
/// A program of StableHLO is one run. At most `limit` of a kind. InvalidArgument for a name that
/// isn't in the graph.
Expected<std::vector<Problem>> check(const Graph &graph, const std::vector<std::string> &asked = {},
                                     size_t limit = 1000);

/// InvalidArgument where Graph::runPasses couldn't read the pipeline, whatever the graph.
Expected<void> checkPipeline(std::string_view pipeline);

} // namespace treadle
