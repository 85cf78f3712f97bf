// Internal to the session folder: graphs of v1 whose loops are compiled.
#pragma once

#include "treadle/graph/GraphImpl.h"

namespace treadle {

/// A copy of the graph, pruned to what was asked for, in which loops and conditionals of v1 are
/// functional: a conditional is part of a cluster then, rather than between clusters. Nothing where
/// the graph has no loops of v1, or none of its loops is worth compiling.
std::optional<Graph> withFunctionalLoops(const Graph &graph, const Request &request);

} // namespace treadle
