// What a plan is to compute, while it still is in the IR.
#pragma once

#include "treadle/lowering/Lowering.h"
#include "treadle/runtime/Graph.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <functional>
#include <memory>

namespace treadle {

class FunctionLibrary;

/// The nodes of one body that a request needs, or the results of a function. The body belongs to
/// the module, which others may read at the same time, until makeOwn(); then it may be rewritten.
class NeededPart {
public:
  struct Result {
    std::string name; // for messages
    std::vector<IterationSelector> iterations;
    mlir::Type type;
  };

  explicit NeededPart(mlir::Block &body) : body(&body) {}
  /// A part of a body in a region of this one's nodes, whose clusters it knows.
  NeededPart inside(mlir::Block &inner) const {
    NeededPart part(inner);
    part.clusters = clusters;
    return part;
  }

  // What it consists of.
  void addArgument(mlir::Value value, std::string name);
  void addResult(mlir::Value value, Result result);
  void need(mlir::Operation *op) { needed.insert(op); }
  void need(mlir::Value value);
  void needEverythingBehind();

  /// A copy takes the place of what is the module's: the nodes that are needed alone, with values
  /// of its own where arguments come in, and a tfg.return of the results at its end. New attributes
  /// come from the module's context, which must lock if others use it. Once made, it is given
  /// again.
  mlir::Block &makeOwn();

  /// The nodes in the order of the body.
  template <typename Visit> void forEachNode(Visit visit) const {
    for (mlir::Operation &op : *body)
      if (isNeeded(&op))
        visit(tfg::Node(&op));
  }
  /// Whether the test holds for a node; in no order.
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
  /// Says that a node of the part's own, or of its regions, stands for these nodes.
  void setCluster(mlir::Operation *node, std::shared_ptr<const ClusterBody> cluster) {
    (*clusters)[node] = std::move(cluster);
  }
  /// Null for other nodes.
  std::shared_ptr<const ClusterBody> clusterOf(mlir::Operation *node) const {
    return clusters->lookup(node);
  }
  llvm::ArrayRef<std::pair<mlir::Value, std::string>> arguments() const { return args; }
  llvm::ArrayRef<Result> results() const { return allResults; }
  mlir::ValueRange resultValues() const;

  std::string name; // the function's

private:
  bool isFedPlaceholder(mlir::Operation *op) const;

  mlir::Block *body;
  std::unique_ptr<mlir::Block> own; // what `body` is then
  std::vector<std::pair<mlir::Value, std::string>> args;
  std::vector<Result> allResults;
  using ClusterMap = llvm::DenseMap<mlir::Operation *, std::shared_ptr<const ClusterBody>>;
  std::shared_ptr<ClusterMap> clusters = std::make_shared<ClusterMap>();
  // Of the module's body.
  std::vector<mlir::Value> values; // of the results
  llvm::DenseSet<mlir::Value> given;
  llvm::SetVector<mlir::Operation *> needed;
};

/// The nodes that the request needs, with an argument for each feed. InvalidArgument for names that
/// don't exist.
Expected<NeededPart> neededPart(const ModuleIndex &index, const Request &request);

/// The body of a function: what its results need, and what has effects.
Expected<NeededPart> neededPart(const ModuleIndex &index, tfg::FuncOp function);

/// What computes some values of a function's body, which become its results.
NeededPart neededPart(tfg::FuncOp function, mlir::ValueRange values);

/// The part as the runtime is given it, node by node.
Expected<GraphSpec> lower(const ModuleIndex &index, const NeededPart &part);

/// Changes what a plan is made of, to the same effect. `functions`: those that the part may call.
using Rewrite =
    std::function<void(NeededPart &part, const ModuleIndex &index, FunctionLibrary &functions)>;

} // namespace treadle
