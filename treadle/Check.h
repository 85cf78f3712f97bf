// Problems of a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// A problem that `check` found.
struct Problem {
  /// `error`, `race`, `note` for information, or `unfinished` if the search for races was
  /// incomplete.
  std::string kind;
  std::vector<std::string> nodes;
  std::string message;
  /// For a race: names a run that executes the second node without the first, and would execute
  /// both if an edge made the second wait for the first. Empty if there is none.
  std::string secondAlone = {};
};
/// Returns the problems of a graph: nodes that don't match their ops' definitions; errors of
/// planning each run; and races, which are nodes with conflicting effects on one resource that no
/// path orders. Nodes that no run has together don't race.
/// With names (`x:0`, `x`) there is one run, with these as fetches and targets. Without names, the
/// runs of a SavedModel are its signatures, its initializer and its saver; a signature that names a
/// missing node is an error. In a plain graph each node without uses counts as a separate run, such
/// as an initializer or a step; a note tells if that excludes races. A StableHLO program is one
/// run.
/// Returns at most `limit` problems of each kind. InvalidArgument for a name that isn't in the
/// graph.
Expected<std::vector<Problem>> check(const Graph &graph, const std::vector<std::string> &asked = {},
                                     size_t limit = 1000);

/// InvalidArgument if Graph::runPasses can't parse the pipeline, independent of the graph.
Expected<void> checkPipeline(std::string_view pipeline);

} // namespace treadle
