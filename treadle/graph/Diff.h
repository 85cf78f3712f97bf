// Compares two graphs.
#pragma once

#include "treadle/treadle.h"

namespace treadle {

struct Difference {
  std::string kind;     // `added`, `removed`, `renamed` or `changed`
  std::string function; // the function; empty for the graph
  /// The name in the second graph if the node exists there; empty for the graph or function itself.
  std::string node;
  std::string message; // `attribute 'T' is f32, was f16`
};

/// Returns the differences of `after` from `before`. Nodes are matched by name; nodes whose names
/// are in one graph only are matched by what they compute: the same op and attributes with the same
/// inputs. The order of nodes and of control inputs is ignored.
Expected<std::vector<Difference>> diffGraphs(const Graph &before, const Graph &after);

/// Formats a difference: `~ node 'y': inputs are [x:0], were [w:0]`.
std::string formatDifference(const Difference &difference);

} // namespace treadle
