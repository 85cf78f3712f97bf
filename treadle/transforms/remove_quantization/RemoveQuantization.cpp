#include "treadle/lowering/Constants.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_REMOVEQUANTIZATION
#include "treadle/transforms/Passes.h.inc"

namespace {

/// Ops whose result is their first input, rounded to what fits into a few bits.
const llvm::StringSet<> rounding = {
    "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel",
    "QuantizeAndDequantize",   "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3",
    "QuantizeAndDequantizeV4",
};

struct RemoveQuantization : impl::RemoveQuantizationBase<RemoveQuantization> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::Constants constants;
    if (failed(tfg::markFed(getOperation(), llvm::to_vector(feeds), constants)))
      return signalPassFailure();
    tfg::forEachBody(getOperation(), [&](Block &body) {
      for (Operation *op : tfg::topologicalOrder(body))
        if (tfg::Node::isNode(op))
          if (Value exact = exactValue(tfg::Node(op), constants))
            replace(tfg::Node(op), exact);
    });
  }

private:
  /// What the first result would be without quantization, null where that can't be told.
  static Value exactValue(tfg::Node node, const tfg::Constants &constants) {
    if (node.numResults() != 1 || node.numData() == 0)
      return {};
    Value value = node->getOperand(0);
    if (node.opType() == "Dequantize")
      value = quantizedValue(value, constants);
    else if (!rounding.contains(node.opType()))
      return {};
    auto from = value ? dyn_cast<TensorType>(value.getType()) : TensorType();
    auto to = dyn_cast<TensorType>(node->getResult(0).getType());
    return from && to && from.getElementType() == to.getElementType() &&
                   tf_type::areCompatible(from, to)
               ? value
               : Value();
  }

  /// What a QuantizeV2 made `value` of, past nodes that only hand it on.
  static Value quantizedValue(Value value, const tfg::Constants &constants) {
    tfg::Node node;
    while (!constants.isFed(value) && (node = tfg::definingNode(value)) &&
           node.opType() == "Identity" && node.numControl() == 0)
      value = node->getOperand(0);
    bool isQuantized = node && node.opType() == "QuantizeV2" && value == node->getResult(0) &&
                       !constants.isFed(value);
    return isQuantized ? node->getOperand(0) : Value();
  }

  static void replace(tfg::Node node, Value exact) {
    OpBuilder builder(node.getOperation());
    tfg::Node identity = tfg::NodeBuilder(builder, "Identity")
                             .name(node.name())
                             .placedAs(node)
                             .attr("T", tfg::dtypeAttr(exact.getType()))
                             .inputs(exact)
                             .control(node.control())
                             .results(node->getResult(0).getType())
                             .build();
    node->replaceAllUsesWith(identity.getOperation());
    node->erase();
  }
};

} // namespace
} // namespace treadle
