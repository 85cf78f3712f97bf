// Internal: the nodes of a graph by the scopes of their names.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// A scope of names, `encoder/layer_0`, or a node.
struct Scope {
  std::string name;  // without the scopes around it; of a body: its function, empty for the graph
  std::string op;    // of a node; empty for a scope
  int64_t nodes = 0; // with those of inner scopes
  std::vector<Scope> inner;
};

/// One for each body: the graph, then functions in their order. A scope with one scope in it and
/// nothing else is one with it: `a/b`. With names asked for (`x:0`) the graph's has only what these
/// need. InvalidArgument for a name that isn't in the graph.
Expected<std::vector<Scope>> scopesOf(const Graph &graph,
                                      const std::vector<std::string> &asked = {});

} // namespace treadle
