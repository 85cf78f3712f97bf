// Internal to the session folder: v1 loops whose iterations are ordered by chains.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// Returns a copy of the graph, pruned to the request, in which chains order the iterations of v1
/// loops. Pruning comes first, since a chain adds dependencies between nodes. Returns nullopt if a
/// requested name no longer exists after this, or no loop got a chain.
std::optional<Graph> withChainedFrames(const Graph &graph, const Request &request);

} // namespace treadle
