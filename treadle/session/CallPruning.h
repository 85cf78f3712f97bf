// Internal to the session folder: removes unneeded computations from calls, branches and loops.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// Returns a copy of the graph, pruned to the request, in which functions take only arguments that
/// a used result or an effect depends on. TensorFlow achieves the same by inlining the calls and
/// pruning: a placeholder that only unused results depend on needs no value. Returns nullopt if the
/// functions compute little or nothing that isn't needed.
std::optional<Graph> withPrunedCalls(const Graph &graph, const Request &request);

} // namespace treadle
