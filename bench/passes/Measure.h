// How long passes take on graphs of growing size.
#pragma once

#include "bench/passes/Shapes.h"

#include <optional>
#include <string>
#include <vector>

namespace treadle::bench {

/// Returns all passes and pipelines, as text of pass pipelines. `$last` is replaced by the name of
/// the last node of the graph.
std::vector<std::string> allPasses();

/// Seconds of CPU time for each pipeline over a graph of a shape, the best of `rounds`; nothing
/// where it fails, and the error is on stderr then. The time of making, copying and verifying the
/// graph is not in.
std::vector<std::optional<double>> measure(const Shape &shape, int64_t numNodes,
                                           const std::vector<std::string> &pipelines, int rounds);

/// How much more than n log n: 1 where time grows as that, 10 where ten times the nodes take ten
/// times longer than that.
double excess(double smallTime, int64_t smallSize, double largeTime, int64_t largeSize);

} // namespace treadle::bench
