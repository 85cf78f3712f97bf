// The subgraph that a plan is built from, while it is still in the IR.
#pragma once

#include "treadle/lowering/Lowering.h"
#include "treadle/runtime/Graph.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <functional>
#include <memory>

namespace treadle {

class FunctionLibrary;

/// The nodes of one body that a request or the results of a function need. The body belongs to the
/// module, which other threads may read, until copyNodes() copies it; then it may be rewritten.
class PrunedSubgraph {
public:
  struct Result {
    std::string name; // for messages
    std::vector<IterationSelector> iterations;
    mlir::Type type;
  };

  explicit PrunedSubgraph(mlir::Block &body) : body(&body) {}
  /// Returns the subgraph of a region of one of its nodes, with the same clusters.
  PrunedSubgraph inside(mlir::Block &inner) const {
    PrunedSubgraph part(inner);
    part.clusters = clusters;
    return part;
  }

  // Adds arguments, results and needed nodes.
  void addArgument(mlir::Value value, std::string name);
  void addResult(mlir::Value value, Result result);
  void need(mlir::Operation *op) { isSorted &= !needed.insert(op); }
  void need(mlir::Value value);
  void markDependencies();
  /// Sorts the needed nodes, if they are few, so that visits needn't search the whole body.
  void sortFew(const ModuleIndex &index);

  /// Replaces the body of the module by a copy: only the needed nodes, with new values for the
  /// arguments and a tfg.return of the results at its end. New attributes are created in the
  /// module's context, which needs locking if others use it. Later calls return the same copy.
  mlir::Block &copyNodes();

  /// Visits the nodes in the order of the body.
  template <typename Visit> void forEachNode(Visit visit) const {
    if (!own && isSorted) {
      for (mlir::Operation *op : needed)
        visit(tfg::Node(op));
      return;
    }
    for (mlir::Operation &op : *body)
      if (isNeeded(&op))
        visit(tfg::Node(&op));
  }
  /// Whether the test holds for any node; the order of visits is unspecified.
  template <typename Test> bool hasNode(Test test) const {
    if (!own)
      return llvm::any_of(needed, [&](mlir::Operation *op) { return test(tfg::Node(op)); });
    return llvm::any_of(body->without_terminator(),
                        [&](mlir::Operation &op) { return test(tfg::Node(&op)); });
  }
  bool isNeeded(mlir::Operation *op) const {
    return own ? op != &own->back() : needed.contains(op);
  }
  size_t size() const { return own ? body->getOperations().size() - 1 : needed.size(); }
  /// Declares that a node of this subgraph, or of its regions, represents a cluster.
  void setCluster(mlir::Operation *node, std::shared_ptr<const ClusterBody> cluster) {
    (*clusters)[node] = std::move(cluster);
  }
  /// Returns null for other nodes.
  std::shared_ptr<const ClusterBody> clusterOf(mlir::Operation *node) const {
    return clusters->lookup(node);
  }
  llvm::ArrayRef<std::pair<mlir::Value, std::string>> arguments() const { return args; }
  llvm::ArrayRef<Result> results() const { return allResults; }
  mlir::ValueRange resultValues() const;

  std::string name; // of the function

private:
  bool isFedPlaceholder(mlir::Operation *op) const;

  mlir::Block *body;
  std::unique_ptr<mlir::Block> own; // owns `body` after copyNodes()
  std::vector<std::pair<mlir::Value, std::string>> args;
  std::vector<Result> allResults;
  using ClusterMap = llvm::DenseMap<mlir::Operation *, std::shared_ptr<const ClusterBody>>;
  std::shared_ptr<ClusterMap> clusters = std::make_shared<ClusterMap>();
  // The results, as values of the module's body.
  std::vector<mlir::Value> values; // of the results
  llvm::DenseSet<mlir::Value> given;
  llvm::SetVector<mlir::Operation *> needed;
  bool isSorted = false;
};

/// Returns the nodes that the request needs, with an argument for each feed. Returns
/// InvalidArgument for names that don't exist.
Expected<PrunedSubgraph> prunedSubgraph(const ModuleIndex &index, const Request &request);

/// Returns the body of a function without dead nodes: those that its results need, and those with
/// effects.
Expected<PrunedSubgraph> prunedSubgraph(const ModuleIndex &index, tfg::FuncOp function);

/// Returns the nodes that compute some values of a function's body, which become the results.
PrunedSubgraph prunedSubgraph(tfg::FuncOp function, mlir::ValueRange values);

/// Lowers a subgraph to the runtime's representation, node by node.
Expected<GraphSpec> lower(const ModuleIndex &index, const PrunedSubgraph &part);

/// A rewrite of a subgraph that preserves its semantics. `functions`: the functions that it may
/// call.
using Rewrite =
    std::function<void(PrunedSubgraph &part, const ModuleIndex &index, FunctionLibrary &functions)>;

} // namespace treadle
