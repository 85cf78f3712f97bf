// The nodes of a graph by index, with edges, v1 frames, and the Switch outputs that each node
// depends on.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/DenseMap.h"

#include <string>
#include <vector>

namespace treadle::tfg {

class FrameGraph {
public:
  using Index = unsigned;
  static constexpr Index none = ~0u;

  explicit FrameGraph(mlir::Block &body);

  size_t size() const { return nodes.size(); }
  Node node(Index index) const { return nodes[index]; }
  bool contains(mlir::Operation *op) const { return indices.contains(op); }
  Index indexOf(Node node) const { return indices.lookup(node.getOperation()); }

  struct Frame {
    std::string name;
    Index parent = none;
    unsigned depth = 0;
    bool overlaps = true;     // whether iterations overlap: parallel_iterations isn't 1
    Index begin = 0, end = 0; // its own index and those of enclosing frames, outermost first
    Node enter;               // the first of its Enters in the graph
  };
  /// Returns the frame of a node; `none` outside of loops. An Enter is in the parent's frame, an
  /// Exit in the loop's.
  Index frameOf(Index node) const { return frame[node]; }
  const std::vector<Frame> &frames() const { return allFrames; }
  bool isInside(Index node, Index outer) const;
  /// Returns the vertices of a frame and of those in it.
  llvm::ArrayRef<Index> inside(Index frame) const;

  /// The nodes, and after these a vertex for the end of each loop, which isn't a node.
  size_t numVertices() const { return edges.size(); }
  /// Returns the edges within one iteration. A NextIteration has edges to the loop's Exits, since
  /// these wait for the last iteration; over the loop's end if the condition depends on it.
  const std::vector<std::vector<Index>> &forward() const { return edges; }
  /// Calls `visit` with each operand in the same iteration and the node that defines it.
  void forEachInput(Index node, llvm::function_ref<void(mlir::Value, Index)> visit) const;
  /// Returns all vertices in topological order of these edges.
  const std::vector<Index> &order() const { return sorted; }
  using Edge = std::pair<Index, Index>;
  /// Returns the edges from a NextIteration to its Merge nodes.
  llvm::ArrayRef<Edge> backEdges(Index from) const;

  /// Returns whether the nodes depend on different outputs of one Switch.
  bool areExclusive(Index a, Index b) const;

private:
  /// Sorted pairs of a predicate and its outcome.
  using Sides = llvm::SmallVector<std::pair<void *, int>, 2>;

  void number(mlir::Block &body);
  void connect();
  void findFrames();
  void numberFrames();
  void connectExits();
  std::vector<Index> addEnds();
  void groupByFrame();
  void findSides();
  void sort();
  bool isForward(mlir::Operation *from, Index to) const;
  Sides sidesOfInput(mlir::Value input) const;

  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Operation *, Index> indices;
  std::vector<std::vector<Index>> edges;
  std::vector<Edge> back; // sorted
  std::vector<Index> sorted;
  std::vector<Index> frame;
  std::vector<Frame> allFrames;
  std::vector<Index> byFrame, frameBegin; // vertices in frames by Frame::begin; where each starts
  std::vector<Sides> sides;
};

} // namespace treadle::tfg
