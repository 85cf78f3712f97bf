// Adds gradients to a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

struct GradientsRequest {
  std::vector<std::string> ys, xs;
  /// The gradient of each y: a value of its shape, or empty for ones. An empty list means ones for
  /// all.
  std::vector<std::string> gradYs;
  /// Values to treat as constants.
  std::vector<std::string> stops;
};

/// Adds the nodes that compute the sum of the gradients of all ys with respect to each x, through
/// calls, conditionals and loops, and returns the names of their values; an empty name if no y
/// depends on that x, or if its dtype has no gradients. The handle of a variable as x means all
/// reads of it. Nodes that call functions may get more results; v1 control flow and regions on the
/// path become functional. Unimplemented, with the op and its node, if an op on the path has no
/// gradient. See docs/gradients.md.
Expected<std::vector<std::string>> addGradients(Graph &graph, const GradientsRequest &request);

} // namespace treadle
