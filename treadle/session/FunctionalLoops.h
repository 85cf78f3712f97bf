// Internal to the session folder: v1 graphs whose loops are compiled.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// Returns a copy of the graph, pruned to the request, in which v1 loops and conditionals are
/// functional, so that a conditional becomes part of a cluster instead of separating clusters.
/// Returns nullopt if the graph has no v1 loops, or compiling none of them saves time.
std::optional<Graph> withFunctionalLoops(const Graph &graph, const Request &request);

} // namespace treadle
