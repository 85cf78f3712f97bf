// Internal: the part of a graph that is shown by default.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// Returns the tensors whose dependencies are shown: for a SavedModel, the outputs of the
/// signature, or of all signatures if none is named. Empty for the whole graph: with `all`, and for
/// a plain graph. Errors as for Graph::signatureFetches.
Expected<std::vector<std::string>> displayedFetches(const Graph &graph, std::string_view signature,
                                                    bool all);

} // namespace treadle
