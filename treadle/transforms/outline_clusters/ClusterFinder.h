// The sets of nodes of a body that are worth compiling together, and nodes that stand for them.
#pragma once

#include "treadle/lowering/NeededPart.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/transforms/outline_clusters/Compilable.h"

#include "llvm/ADT/StringSet.h"

#include <mutex>

namespace treadle::tfg {

/// A cluster: nodes of one body that can become one.
struct Cluster {
  mlir::SmallVector<Node> nodes; // in topological order
  bool isStateful = false;       // reads or writes variables, or checks something
};

/// The names of a graph's nodes that runs refer to: `kept` ones stay themselves, so that they can
/// be fed; `fetched` ones keep a node of their name. Empty for other bodies.
struct AskedNames {
  llvm::StringSet<> kept, fetched;
};

/// Finds clusters. What it learns of functions it keeps, so these must not change. Not thread-safe.
class ClusterFinder {
public:
  /// `raises`: as Compilable has it.
  explicit ClusterFinder(const FunctionLookup &functionOf, bool raises = false)
      : functionOf(functionOf), compilable(functionOf, raises) {}

  /// Whether a node is a loop, or calls a function with one.
  bool hasLoop(Node node) { return compilable.hasLoop(node); }
  /// Loops, and what is around them.
  std::vector<Cluster> loops(mlir::Block &body, const AskedNames &names);
  /// Straight code that computes elements, many operations of it one after the other; none of a
  /// body of more than `mostOfGraph` nodes.
  std::vector<Cluster> straight(mlir::Block &body, const AskedNames &names);

private:
  const FunctionLookup functionOf;
  Compilable compilable;
};

/// Whether a node is a constant, which clusters have copies of.
bool isConstant(Node node);

/// What others use of the results of a set of nodes; of nodes that are fetched, all.
mlir::SmallVector<mlir::Value> resultsOf(mlir::ArrayRef<Node> nodes,
                                         const llvm::StringSet<> &fetched);

/// Makes a function of a cluster's nodes, in `module`, and replaces them by a call of it, called
/// `callName`. SoftEdges of the body must be open.
Node outlineCluster(const Cluster &cluster, const AskedNames &names, mlir::ModuleOp module,
                    llvm::StringRef functionName, llvm::StringRef callName);

/// A cluster of a plan: its function, alone in a module.
struct OutlinedCluster final : ClusterBody {
  explicit OutlinedCluster(mlir::Location location) : module(mlir::ModuleOp::create(location)) {}
  FuncOp function() const { return *(*module).getOps<FuncOp>().begin(); }
  mutable mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Makes clusters of the nodes of parts, for plans. Thread-safe.
class PartClusters {
public:
  /// `index`: of the module that the parts belong to, and which may not change.
  explicit PartClusters(const ModuleIndex &index);

  /// Clusters of loops, before fusing: in loops, too, that no cluster has. `onlyInner`: in loops
  /// alone.
  void outlineLoops(NeededPart &part, bool onlyInner);
  /// Clusters of straight code, after fusing.
  void outlineStraight(NeededPart &part, bool onlyInner);
  /// Whether the parts are this module's.
  bool serves(const ModuleIndex &other) const { return &index == &other; }

private:
  void outline(NeededPart &part, mlir::Block &body, const std::vector<Cluster> &found);

  const ModuleIndex &index;
  std::mutex mutex; // guards what follows
  ClusterFinder finder;
};

} // namespace treadle::tfg
