// addGradients: works on a copy that replaces the graph on success.
#include "treadle/Gradients.h"
#include "treadle/dialect/Diagnostics.h"
#include "treadle/gradients/AddGradients.h"
#include "treadle/gradients/Backpropagation.h"
#include "treadle/graph/EditIndex.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace treadle {
namespace {

using Names = std::vector<std::string>;

Expected<SmallVector<Value>> valuesOf(const EditIndex &index, const Names &names,
                                      bool mayBeEmpty = false) {
  SmallVector<Value> values;
  for (const std::string &name : names) {
    if (name.empty() && mayBeEmpty) {
      values.push_back(nullptr);
      continue;
    }
    Value value = TREADLE_TRY(index.value(name));
    if (tfg::isControl(value))
      return Unexpected(invalidArgument(
          "'", name,
          "' is a control token, which has no gradient; expected a value such as 'x:0'"));
    values.push_back(value);
  }
  return values;
}

Expected<tfg::GradientsRequest> resolve(const EditIndex &index, const GradientsRequest &request) {
  tfg::GradientsRequest out;
  if (!request.gradYs.empty() && request.gradYs.size() != request.ys.size())
    return Unexpected(invalidArgument("there are ", request.gradYs.size(), " gradients of ",
                                      request.ys.size(), " ys; expected one for each, or none"));
  for (auto [names, values] :
       {std::pair(&request.ys, &out.ys), std::pair(&request.xs, &out.xs),
        std::pair(&request.gradYs, &out.dys), std::pair(&request.stops, &out.stops)}) {
    SmallVector<Value> found = TREADLE_TRY(valuesOf(index, *names, names == &request.gradYs));
    *values = std::move(found);
  }
  for (auto [y, dy] : llvm::zip(out.ys, out.dys))
    if (dy && getElementTypeOrSelf(dy.getType()) != getElementTypeOrSelf(y.getType()))
      return Unexpected(invalidArgument("'", nameOf(dy), "' can't be the gradient of '", nameOf(y),
                                        "': expected the same dtype"));
  return out;
}

/// The forms of control flow among the nodes that the ys depend on, and in functions.
struct ControlFlowForms {
  bool hasRegions = false, hasV1 = false;

  void addNode(tfg::Node node) {
    hasRegions |= node->getNumRegions() != 0;
    hasV1 |= tfg::isV1ControlFlow(node);
  }
};

ControlFlowForms controlFlowFormsOf(ModuleOp module, ValueRange ys) {
  ControlFlowForms forms;
  for (tfg::Node node : tfg::neededNodes(ys))
    forms.addNode(node);
  for (auto function : module.getOps<tfg::FuncOp>())
    if (!function.isExternal() && !function.getGeneric())
      for (Operation &op : function.getEntry())
        if (tfg::Node::isNode(&op))
          forms.addNode(tfg::Node(&op));
  return forms;
}

/// Converts the graph's control flow to functional form where the passes can.
Expected<Graph> functional(const Graph &graph, const Names &ys) {
  EditIndex index(*graph.impl);
  SmallVector<Value> values = TREADLE_TRY(valuesOf(index, ys));
  ControlFlowForms forms = controlFlowFormsOf(*graph.impl->module, values);
  std::string passes;
  if (forms.hasRegions)
    passes = "tfg-region-to-functional";
  if (forms.hasV1)
    passes += std::string(passes.empty() ? "" : ",") + "tfg-v1-to-functional";
  return passes.empty() ? graph : graph.runPasses(passes);
}

} // namespace

Expected<std::vector<std::string>> addGradients(Graph &graph, const GradientsRequest &request) {
  Graph ready = TREADLE_TRY(functional(graph, request.ys));
  Graph copy = derivedGraph(ready, ready.impl->copy());
  ModuleOp module = *copy.impl->module;
  EditIndex index(*copy.impl);
  Expected<tfg::GradientsRequest> resolved = resolve(index, request);
  bool isConverted = ready.impl != graph.impl;
  if (!resolved && isConverted && resolve(EditIndex(*graph.impl), request))
    return Unexpected(
        invalidArgument(resolved.error().message,
                        " after loops and conditionals were converted to functions: it is "
                        "inside one of them; expected a value outside of them"));
  if (!resolved)
    return Unexpected(std::move(resolved.error()));
  auto gradients =
      TREADLE_TRY(tfg::addGradients(module, index.graph.getNodes().front(), *resolved));
  FirstError first(module.getContext());
  if (failed(verify(module)))
    return Unexpected(internal("the graph with gradients is malformed: ", first.message));
  Names names;
  for (mlir::Value gradient : gradients)
    names.push_back(gradient ? nameOf(gradient) : "");
  graph = std::move(copy);
  return names;
}

} // namespace treadle
