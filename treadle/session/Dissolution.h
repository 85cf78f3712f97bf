// Internal to the session folder: conditionals and loops that TensorFlow dissolves before it
// prunes.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// A copy of the graph, pruned to the request, in which nodes of functions stand for the If, Case,
/// While and calls that TensorFlow would dissolve into a session's graph: there an effect happens
/// only if what is asked for depends on it. Nothing where that leaves out no effect.
std::optional<Graph> withDissolvedNodes(const Graph &graph, const Request &request);

} // namespace treadle
