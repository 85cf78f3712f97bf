// Internal to the session folder: inlines conditionals, loops and calls that TensorFlow inlines
// before it prunes.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// Whether the graph has nodes that TensorFlow inlines.
bool hasDissolvedNodes(const Graph &graph);

/// Returns a copy of the graph, pruned to the request, in which If, Case, While and calls are
/// inlined that TensorFlow would inline into a session's graph, so that effects in them only happen
/// if a fetch or target depends on them. Returns nullopt if this removes no effect.
std::optional<Graph> withInlinedNodes(const Graph &graph, const Request &request);

} // namespace treadle
