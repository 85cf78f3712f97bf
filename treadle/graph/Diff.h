// What differs between two graphs.
#pragma once

#include "treadle/treadle.h"

namespace treadle {

struct Difference {
  std::string kind;     // `added`, `removed`, `renamed` or `changed`
  std::string function; // that it is in; empty: the graph
  std::string node;     // in the second graph if it is there; empty: the graph or function itself
  std::string message;  // `attribute 'T' is f32, was f16`
};

/// The differences of `after` from `before`. Nodes belong together by name; those whose names are
/// in one graph only, by what they compute: the same op and attributes of the same inputs. The
/// order of nodes and of control inputs doesn't count.
Expected<std::vector<Difference>> diffGraphs(const Graph &before, const Graph &after);

/// `~ node 'y': inputs are [x:0], were [w:0]`.
std::string lineOf(const Difference &difference);

} // namespace treadle
