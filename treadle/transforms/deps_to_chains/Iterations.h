// Dependencies between the iterations of a loop: which nodes transitively depend on themselves in
// the previous iteration.
#pragma once

#include "treadle/analysis/races/FrameGraph.h"
#include "treadle/transforms/deps_to_chains/LoopOrder.h"

namespace treadle::tfg {

/// The nodes of a loop with the edges that it will have once its iterations overlap: within an
/// iteration, and from one to the next.
class Iterations {
public:
  /// Builds the graph of a While with its planned chains. The loop must not be opaque.
  explicit Iterations(const LoopOrder &order);
  /// Builds the graph of a v1 loop with its existing edges.
  Iterations(const FrameGraph &graph, FrameGraph::Index frame);

  /// Returns the nodes in the order of the graph, those of the condition first, including those of
  /// inner v1 loops.
  llvm::ArrayRef<Node> nodes() const { return members; }
  bool isInCondition(size_t index) const { return index < numInCondition; }

  /// The cycle through iterations that each node, loop variable or condition is on. 0 if there is
  /// none, so that instances of several iterations can coexist.
  struct Cycles {
    std::vector<unsigned> ofNodes;
    std::vector<unsigned> ofVariables; // of a While only
    unsigned ofCondition = 0;          // of the condition's result

    bool operator[](size_t node) const { return ofNodes[node] != 0; }
  };
  /// Finds the cycles as if the chains of the ignored resources (indices into LoopOrder::resources)
  /// didn't exist.
  Cycles cycles(llvm::function_ref<bool(unsigned)> isIgnored = [](unsigned) {
    return false;
  }) const;

private:
  struct Edge {
    unsigned from, to;
    std::optional<unsigned> resource; // the resource whose chain the edge belongs to
  };

  void add(unsigned from, unsigned to, std::optional<unsigned> resource = {}) {
    edges.push_back({from, to, resource});
  }
  unsigned vertexOf(mlir::Value value) const;
  void addFunction(FuncOp function, const LoopOrder &order, unsigned start);
  void addChain(const LoopChain &chain);

  std::vector<Node> members; // vertices from 0 on
  size_t numInCondition = 0;
  unsigned firstVariable = 0, numVariables = 0, numVertices = 0;
  unsigned predicate = ~0u;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  std::vector<Edge> edges;
};

} // namespace treadle::tfg
