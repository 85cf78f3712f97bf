// Selects the soft edges that a schedule can keep: those that close no cycle with the other edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace treadle {

struct GraphSpec;

/// A topological order that is updated as edges are added.
///
/// An edge that agrees with the order is free. For any other edge only the nodes between its ends
/// are visited and reordered (D. J. Pearce and P. H. J. Kelly, A dynamic topological sort algorithm
/// for directed acyclic graphs, 2006).
class SoftOrder {
public:
  /// `before`: the predecessors of each node. Nodes on a cycle, and all nodes that follow them,
  /// accept no further edges.
  explicit SoftOrder(std::vector<std::vector<int32_t>> before);

  /// Adds an edge. Returns false, without a change, if it would close a cycle.
  bool add(int32_t from, int32_t to);

  /// Whether a path leads from `from` to `to`. Visits at most `limit` nodes and returns false if
  /// that isn't enough.
  bool isImplied(int32_t from, int32_t to, size_t limit) const;

private:
  void collect(int32_t start, const std::vector<std::vector<int32_t>> &next, int32_t low,
               int32_t high, std::vector<int32_t> &found);

  std::vector<std::vector<int32_t>> before, after;
  std::vector<int32_t> position; // by node; -1 if on a cycle or after one
  std::vector<uint8_t> isMarked;
};

/// An edge between two nodes, given by number.
struct SoftEdge {
  int32_t from, to;
};

/// Returns the soft edges (NodeSpec::soft) between nodes of the graph, without those that close a
/// cycle with the other edges; of two soft edges that form a cycle together, the later one is
/// dropped. Costs one look at each node if there are none.
std::vector<SoftEdge> softEdges(const GraphSpec &graph);

} // namespace treadle
