// The nodes of a graph by number: edges, v1 frames, and the sides of Switches that a node is under.
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
    bool overlaps = true;     // iterations may: parallel_iterations isn't 1
    Index begin = 0, end = 0; // of its own number and of those inside, outermost first
  };
  /// Of a node; `none` outside of all loops. Enter is in its parent's frame, Exit in the loop's.
  Index frameOf(Index node) const { return frame[node]; }
  const std::vector<Frame> &frames() const { return allFrames; }
  bool isInside(Index node, Index outer) const;

  /// Edges within one iteration. What a NextIteration gives reaches the loop's Exits, since
  /// they wait for the last iteration.
  const std::vector<std::vector<Index>> &forward() const { return edges; }
  /// What `node` waits for in the same iteration, and the node that gives it.
  void forEachInput(Index node, llvm::function_ref<void(mlir::Value, Index)> visit) const;
  /// All nodes, each after those that it has such edges from.
  const std::vector<Index> &order() const { return sorted; }
  /// From NextIteration to Merge.
  const std::vector<std::pair<Index, Index>> &backEdges() const { return back; }

  /// Whether the two stand under different sides of one Switch.
  bool areExclusive(Index a, Index b) const;

private:
  /// (predicate, side): sorted.
  using Sides = llvm::SmallVector<std::pair<void *, int>, 2>;

  void number(mlir::Block &body);
  void connect();
  void findFrames();
  void numberFrames();
  void connectExits();
  void findSides();
  void sort();
  bool isForward(mlir::Operation *from, Index to) const;
  Sides sidesGiven(mlir::Value input) const;

  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Operation *, Index> indices;
  std::vector<std::vector<Index>> edges;
  std::vector<std::pair<Index, Index>> back;
  std::vector<Index> sorted;
  std::vector<Index> frame;
  std::vector<Frame> allFrames;
  std::vector<Sides> sides;
};

} // namespace treadle::tfg
