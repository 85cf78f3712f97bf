// Gradients, added to a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

struct GradientsRequest {
  std::vector<std::string> ys, xs;
  /// What flows from each y: a value of its shape, or empty for ones; or nothing at all.
  std::vector<std::string> gradYs;
  /// Values that count as constant where others are computed from them.
  std::vector<std::string> stops;
};

/// Adds the nodes that compute the sum of the gradients of all ys with respect to each x, through
/// calls, conditionals and loops, and gives their values' names; an empty one where no y depends
/// on that x, or where its dtype has no gradients. An x that is the handle of a variable stands
/// for all that is read of it. Nodes that run functions get further results; v1 control flow and
/// regions on the way become functional. Unimplemented, with the op and its node, where there is
/// no gradient on the way. docs/gradients.md has more.
Expected<std::vector<std::string>> addGradients(Graph &graph, const GradientsRequest &request);

} // namespace treadle
