// The contents of a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// The data that `treadle show` prints.
struct GraphSummary {
  struct Count {
    std::string op;
    int64_t count;
  };
  struct Function {
    std::string name;
    int64_t nodes, args, results;
    bool isGeneric;
  };
  struct Loop {
    std::string name;  // a While node, or a v1 frame
    std::string kind;  // its op, or `frame`
    std::string where; // the function that contains it; empty: the graph
    int64_t parallelIterations;
  };
  /// An op that requires a permission (see Permissions).
  struct Want {
    enum Kind { Read, Write, Clock, Python } kind;
    std::string op, node;
    std::string where; // the function that contains it; empty: the graph
    std::string path;  // of the file, if known before a run; for Python its token
  };
  int64_t nodes = 0, controlEdges = 0;
  int producer = 0, minConsumer = 0;
  std::vector<Count> ops; // most frequent first, including nodes of functions
  std::vector<Function> functions;
  std::vector<Loop> loops, conditionals;
  std::vector<Graph::Value> variables;
  std::vector<Want> wants;
};
GraphSummary summarize(const Graph &graph);
/// Summarizes the nodes that these names (`x:0`, `x`) need, and the functions that they call.
/// InvalidArgument for a name that isn't in the graph.
Expected<GraphSummary> summarize(const Graph &graph, const std::vector<std::string> &asked);

} // namespace treadle
