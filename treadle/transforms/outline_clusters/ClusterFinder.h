// The search for sets of nodes to compile together, and their outlining.
#pragma once

#include "treadle/lowering/PrunedSubgraph.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/transforms/outline_clusters/Compilable.h"

#include "llvm/ADT/StringSet.h"

#include <mutex>

namespace treadle::tfg {

/// A set of nodes of one body that can be outlined together.
struct Cluster {
  mlir::SmallVector<Node> nodes; // in topological order
  bool isStateful = false;       // reads or writes variables, checks values, or runs Python code
                                 // with side effects
  bool runsPython = false;
};

/// The names of a graph's nodes that runs refer to. `kept` nodes aren't outlined, so that they can
/// be fed; for `fetched` nodes, a node with the name stays. Empty for other bodies.
struct RequestedNames {
  llvm::StringSet<> kept, fetched;
};

/// Finds clusters. It caches facts about functions, so these must not change. Not thread-safe.
class ClusterFinder {
public:
  /// `raises` and `callsPython` are as in Compilable.
  explicit ClusterFinder(const FunctionLookup &functionOf, bool raises = false,
                         bool callsPython = true)
      : compilable(functionOf, raises, callsPython),
        waiting(functionOf, BlockingNodes::ForAnything),
        exchanging(functionOf, BlockingNodes::ForOthers) {}

  /// Returns whether a node is a loop or calls a function with one.
  bool hasLoop(Node node) { return compilable.hasLoop(node); }
  /// Returns clusters of loops and the nodes around them.
  std::vector<Cluster> loops(mlir::Block &body, const RequestedNames &names);
  /// Returns clusters without loops, of nodes that compute many elementwise operations in a row or
  /// are small; none if the body has more than `maxGraphNodes` nodes.
  std::vector<Cluster> straight(mlir::Block &body, const RequestedNames &names);

private:
  Compilable compilable;
  BlockingNodes waiting, exchanging;
};

/// Returns whether a node is a constant, which clusters copy.
bool isConstant(Node node);

/// Returns the results of a set of nodes that other nodes use, and all results of fetched nodes.
mlir::SmallVector<mlir::Value> resultsOf(mlir::ArrayRef<Node> nodes,
                                         const llvm::StringSet<> &fetched);

/// Outlines the nodes of a cluster into a function in `module` and replaces them with a call named
/// `callName`, which it returns. A SoftEdges of the body must exist.
Node outlineCluster(const Cluster &cluster, const RequestedNames &names, mlir::ModuleOp module,
                    llvm::StringRef functionName, llvm::StringRef callName);

/// A cluster of a plan: its function, in a module of its own.
struct OutlinedCluster final : ClusterBody {
  explicit OutlinedCluster(mlir::Location location) : module(mlir::ModuleOp::create(location)) {}
  FuncOp function() const { return *(*module).getOps<FuncOp>().begin(); }
  mutable mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Outlines clusters in subgraphs that become plans. Thread-safe.
class SubgraphClusters {
public:
  /// `index` belongs to the module that contains the subgraphs, which must not change.
  /// `callsPython` is as in Compilable.
  explicit SubgraphClusters(const ModuleIndex &index, bool callsPython = true);

  /// Outlines clusters with loops, before kernel fusion; also inside loops that aren't in a
  /// cluster. With `onlyInner`, only inside loops.
  void outlineLoops(PrunedSubgraph &part, bool onlyInner);
  /// Outlines clusters without loops, after kernel fusion.
  void outlineStraight(PrunedSubgraph &part, bool onlyInner);
  /// Returns whether the subgraphs belong to the module of `other`.
  bool serves(const ModuleIndex &other) const { return &index == &other; }

private:
  void outline(PrunedSubgraph &part, mlir::Block &body, const std::vector<Cluster> &found);

  const ModuleIndex &index;
  std::mutex mutex; // guards the members below
  ClusterFinder finder;
};

} // namespace treadle::tfg
