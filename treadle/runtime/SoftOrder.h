// Which soft edges a schedule can keep: those that close no cycle with the other edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace treadle {

struct GraphSpec;

/// An order of nodes that keeps all edges, and takes further ones one by one.
///
/// An edge that agrees with the order costs nothing; any other makes it look at the nodes between
/// its ends alone, and moves these (D. J. Pearce and P. H. J. Kelly, A dynamic topological sort
/// algorithm for directed acyclic graphs, 2006).
class SoftOrder {
public:
  /// `before`: by node, those that run before it. Nodes on a cycle of these, and all behind them,
  /// take no further edges.
  explicit SoftOrder(std::vector<std::vector<int32_t>> before);

  /// Adds the edge; false, changing nothing, if `to` comes before `from` by the edges so far.
  bool add(int32_t from, int32_t to);

  /// Whether a path of edges leads from one to the other. Looks at `limit` nodes at most, and says
  /// no if that isn't enough.
  bool isImplied(int32_t from, int32_t to, size_t limit) const;

private:
  void collect(int32_t start, const std::vector<std::vector<int32_t>> &next, int32_t low,
               int32_t high, std::vector<int32_t> &found);

  std::vector<std::vector<int32_t>> before, after;
  std::vector<int32_t> position; // by node; -1: on a cycle or behind one
  std::vector<uint8_t> isMarked;
};

/// An edge by node numbers.
struct SoftEdge {
  int32_t from, to;
};

/// The soft edges of a graph between nodes that it has (NodeSpec::soft), without those that close a
/// cycle with the other edges; of two that do with each other the later one goes. Empty, at the
/// cost of a look at each node, where no node has any.
std::vector<SoftEdge> softEdges(const GraphSpec &graph);

} // namespace treadle
