// What is wrong with a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// Something that `check` finds.
struct Problem {
  std::string kind; // `error`, `race`, or `note` where nothing is wrong
  std::vector<std::string> nodes;
  std::string message;
};
/// What is wrong with a graph that could be read: nodes that aren't what their ops' definitions
/// say; and races, which are nodes with conflicting effects on one resource that no path of edges
/// orders. With names asked for (`x:0`, `x`), races only among the nodes that these need: what
/// one run would run. Of a SavedModel without names: among the nodes of each signature, and of
/// what initializes, saves and restores it; a signature that names what isn't there is an error.
/// At most `limit` of a kind. InvalidArgument for a name that isn't in the graph.
Expected<std::vector<Problem>> check(const Graph &graph, const std::vector<std::string> &asked = {},
                                     size_t limit = 1000);

/// InvalidArgument where Graph::runPasses couldn't read the pipeline, whatever the graph.
Expected<void> checkPipeline(std::string_view pipeline);

} // namespace treadle
