// Internal: groups the nodes of a graph by the scopes in their names.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// A name scope (`encoder/layer_0`) or a node.
struct Scope {
  std::string name;  // without the outer scopes; for a body: its function, empty for the graph
  std::string op;    // of a node; empty for a scope
  int64_t nodes = 0; // including those of inner scopes
  std::vector<Scope> inner;
};

/// Returns one scope for each body: the graph, then functions in their order. A scope that contains
/// nothing but one scope is merged with it: `a/b`. With names (`x:0`), the graph's scope contains
/// only the nodes that these depend on. InvalidArgument for a name that isn't in the graph.
Expected<std::vector<Scope>> scopesOf(const Graph &graph,
                                      const std::vector<std::string> &asked = {});

} // namespace treadle
