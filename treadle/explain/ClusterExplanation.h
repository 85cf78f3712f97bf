// Internal: explanation of which parts of a graph are compiled.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// Adds to `out` the parts of a graph that are compiled to machine code, and the reasons why other
/// nodes that run aren't. `graph` must have no regions.
Expected<void> explainClusters(const Graph &graph, const ExplainRequest &request, Explanation &out);

/// Returns `float32[?,16]`.
std::string typeText(mlir::Type tensor);

} // namespace treadle
