// Internal: what of a graph is compiled, explained.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// Adds to `out` the parts of a graph that become machine code, and for the rest of what runs why
/// it doesn't. `graph` has no regions.
Expected<void> explainClusters(const Graph &graph, const ExplainRequest &request, Explanation &out);

/// `float32[?,16]`.
std::string typeText(mlir::Type tensor);

} // namespace treadle
