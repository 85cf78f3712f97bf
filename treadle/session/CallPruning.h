// Internal to the session folder: what calls, branches and loops compute for nothing.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// A copy of the graph, pruned to the request, in which functions take only what some result that
/// is used, or an effect, depends on. TensorFlow has the same from inlining a graph's calls and
/// pruning: a placeholder that no such result depends on needs no value. Nothing where functions
/// take and give nothing that would have to be computed in vain.
std::optional<Graph> withPrunedCalls(const Graph &graph, const Request &request);

} // namespace treadle
