// Internal to the session folder: v1 loops whose iterations are ordered by chains.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// A copy of the graph, pruned to what was asked for, in which chains order the iterations of v1
/// loops: pruning first, since a chain makes nodes need each other that didn't. Nothing where a
/// name that was asked for is gone with that, or no loop got a chain.
std::optional<Graph> withChainedFrames(const Graph &graph, const Request &request);

} // namespace treadle
