// Internal: what of a graph people are shown who ask for no part of it.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// The tensors whose nodes, with what these need, are shown: of a SavedModel those that a signature
/// gives, or without its name those that any gives. Empty: all of the graph, as with `all`, and of
/// a plain graph. Errors: those of Graph::signatureFetches.
Expected<std::vector<std::string>> shownFetches(const Graph &graph, std::string_view signature,
                                                bool all);

} // namespace treadle
