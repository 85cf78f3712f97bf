#include "treadle/gradients/SymbolicGradients.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_EXPANDSYMBOLICGRADIENTS
#include "treadle/transforms/Passes.h.inc"

namespace {

/// Replaces the node with a call of the function that has its name.
void replaceByCall(tfg::Node node, tfg::FuncOp gradient) {
  OpBuilder builder(node.getOperation());
  bool isStateful = gradient.getIsStateful();
  tfg::Node call =
      tfg::NodeBuilder(builder, isStateful ? "StatefulPartitionedCall" : "PartitionedCall")
          .placedAs(node)
          .attrs(node.attrs())
          .attr("f", tf_type::FuncAttr::get(node->getContext(), gradient.getName(),
                                            builder.getDictionaryAttr({})))
          .inputs(node.data())
          .control(node.control())
          .results(node.results().getTypes())
          .build();
  node->replaceAllUsesWith(call.getOperation());
  node->erase();
}

struct ExpandSymbolicGradients : impl::ExpandSymbolicGradientsBase<ExpandSymbolicGradients> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    functions = tfg::functionsOf(getOperation());
    tfg::SymbolicGradients gradients(
        getOperation(), [&](StringRef name) { return functions.lookup(name); },
        [&](tfg::FuncOp made) { functions[made.getName()] = made; });
    // New functions are appended, and may contain further SymbolicGradient nodes.
    for (Operation &op : *getOperation().getBody()) {
      if (auto function = dyn_cast<tfg::FuncOp>(op);
          function && (function.isExternal() || function.getGeneric()))
        continue;
      if (isa<tfg::GraphOp, tfg::FuncOp>(op) &&
          failed(expandIn(op.getRegion(0).front(), gradients)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult expandIn(Block &body, tfg::SymbolicGradients &gradients) {
    for (Operation &op : llvm::make_early_inc_range(body)) {
      tfg::Node node(&op);
      if (!tfg::Node::isNode(&op) || node.opType() != "SymbolicGradient")
        continue;
      auto function = node.attr<tf_type::FuncAttr>("f");
      if (!function)
        return op.emitError() << "node '" << node.name()
                              << "' (SymbolicGradient): attribute 'f' doesn't name a function";
      Expected<tfg::FuncOp> gradient = gradients.of(function.getName().getRootReference());
      if (!gradient)
        return op.emitError() << "node '" << node.name()
                              << "' (SymbolicGradient): " << gradient.error().message;
      if (failed(checkSignature(node, *gradient)))
        return failure();
      replaceByCall(node, *gradient);
    }
    return success();
  }

  LogicalResult checkSignature(tfg::Node node, tfg::FuncOp gradient) {
    unsigned arguments = gradient.getNumDataArguments(), results = gradient.getNumResults();
    if (node.numData() == arguments && node.numResults() == results)
      return success();
    return node->emitError() << "node '" << node.name() << "' (SymbolicGradient): it has "
                             << node.numData() << " inputs and " << node.numResults()
                             << " outputs, but the gradient function '" << gradient.getName()
                             << "' takes " << arguments << " and returns " << results;
  }

  tfg::FunctionMap functions;
};

} // namespace
} // namespace treadle
