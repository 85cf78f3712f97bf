// What of a loop's iterations can run at the same time: which nodes wait, by whatever way, for
// themselves of the iteration before.
#pragma once

#include "treadle/analysis/races/FrameGraph.h"
#include "treadle/transforms/deps_to_chains/LoopOrder.h"

namespace treadle::tfg {

/// The nodes of a loop with the edges that it will have when its iterations overlap: within an
/// iteration, and from one to the next.
class Iterations {
public:
  /// Of a While with its chains; not for one that is opaque.
  explicit Iterations(const LoopOrder &order);
  /// Of a v1 loop, as its edges stand.
  Iterations(const FrameGraph &graph, FrameGraph::Index frame);

  /// Those of inner v1 loops included; the condition's first. The order is the program's.
  llvm::ArrayRef<Node> nodes() const { return members; }
  bool isInCondition(size_t index) const { return index < numInCondition; }

  /// Numbers of the cycles through iterations that things are on. 0: on none, so that they can be
  /// there for several iterations at once.
  struct Cycles {
    std::vector<unsigned> ofNodes;
    std::vector<unsigned> ofVariables; // of a While
    unsigned ofCondition = 0;          // of the condition's result

    bool operator[](size_t node) const { return ofNodes[node] != 0; }
  };
  /// As if the chains of some resources (numbers of LoopOrder::resources) weren't there.
  Cycles cycles(llvm::function_ref<bool(unsigned)> isIgnored = [](unsigned) {
    return false;
  }) const;

private:
  struct Edge {
    unsigned from, to;
    std::optional<unsigned> resource; // whose chain it belongs to
  };

  void add(unsigned from, unsigned to, std::optional<unsigned> resource = {}) {
    edges.push_back({from, to, resource});
  }
  unsigned vertexOf(mlir::Value value) const;
  void addFunction(FuncOp function, const LoopOrder &order, unsigned start);
  void addChain(const LoopChain &chain);

  std::vector<Node> members; // vertices 0 and on
  size_t numInCondition = 0;
  unsigned firstVariable = 0, numVariables = 0, numVertices = 0;
  unsigned predicate = ~0u;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  std::vector<Edge> edges;
};

} // namespace treadle::tfg
