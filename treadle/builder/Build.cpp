// Conversion of a builder's state to a graph: a copy in which side effects are ordered.
#include "treadle/builder/BuilderImpl.h"

#include "treadle/dialect/Diagnostics.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/order/BodyOrder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace treadle::builder {
namespace {

/// Adds edges that order side effects, separately for nodes that run with `init` and all others:
/// there are no edges between the two groups.
class GraphOrder {
public:
  GraphOrder(tfg::GraphOp graph, const llvm::StringSet<> &initNodes)
      : body(graph.getNodes().front()), initNodes(initNodes) {}

  void order(const tfg::EffectAnalysis &effects) {
    for (bool isInit : {false, true})
      for (tfg::OrderEdge edge : tfg::missingOrder(
               body, effects, [&](tfg::Node node) { return isOfInit(node) == isInit; }))
        tfg::addControl(edge.to, edge.from.controlResult());
  }

  /// Makes nodes of these names wait for all earlier nodes that must run.
  void waitForEffects(ArrayRef<std::string> names, const tfg::EffectAnalysis &effects) {
    SmallVector<mlir::Value> tokens;
    for (mlir::Operation &op : body) {
      tfg::Node node(&op);
      if (llvm::is_contained(names, node.name()))
        for (mlir::Value token : tokens)
          tfg::addControl(node, token);
      else if (!isOfInit(node) && tfg::mustRun(node, effects))
        tokens.push_back(node.controlResult());
    }
  }

  void addInit(ArrayRef<std::string> initializers) {
    llvm::StringSet<> names;
    for (const std::string &name : initializers)
      names.insert(name);
    SmallVector<mlir::Value> tokens;
    for (mlir::Operation &op : body)
      if (names.contains(tfg::Node(&op).name()))
        tokens.push_back(tfg::Node(&op).controlResult());
    OpBuilder builder = OpBuilder::atBlockEnd(&body);
    tfg::NodeBuilder(builder, "NoOp")
        .name(StringRef(Builder::initName))
        .control(ValueRange(tokens))
        .build();
  }

private:
  bool isOfInit(tfg::Node node) const { return initNodes.contains(node.name()); }

  Block &body;
  const llvm::StringSet<> &initNodes;
};

void orderFunctions(ModuleOp module, const tfg::EffectAnalysis &effects) {
  for (auto function : module.getOps<tfg::FuncOp>()) {
    for (tfg::OrderEdge edge : tfg::missingOrder(function.getEntry(), effects))
      tfg::addControl(edge.to, edge.from.controlResult());
    tfg::returnControl(function.getReturn(), tfg::unawaitedEffects(function, effects));
  }
}

} // namespace

Expected<Graph> BuilderImpl::build() {
  if (current != root)
    return Unexpected(notInnermostError("the graph is built"));
  if (isBroken)
    return Unexpected(
        Error{Code::FailedPrecondition,
              "adding a gradient failed inside of a body; start again with a new builder"});
  OwningOpRef<ModuleOp> copy = graph.impl->copy();
  {
    tfg::EffectAnalysis effects(*copy);
    GraphOrder nodes(*copy->getOps<tfg::GraphOp>().begin(), initNodes);
    nodes.order(effects);
    nodes.waitForEffects(effectsNodes, effects);
    orderFunctions(*copy, effects);
    if (!initializers.empty())
      nodes.addInit(initializers);
  }
  FirstError first(copy->getContext());
  if (failed(verify(*copy)))
    return Unexpected(internal("the graph that was built doesn't verify: ", first.message));
  return derivedGraph(graph, std::move(copy));
}

} // namespace treadle::builder
