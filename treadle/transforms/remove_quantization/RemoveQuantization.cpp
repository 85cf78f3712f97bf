#include "treadle/lowering/Constants.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_REMOVEQUANTIZATION
#include "treadle/transforms/Passes.h.inc"

namespace {

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
  /// Returns the value of the first result without quantization; null if it is unknown.
  static Value exactValue(tfg::Node node, const tfg::Constants &constants) {
    if (node.numResults() != 1 || node.numData() == 0)
      return {};
    const OpDef *def = lookupOp(node.opType());
    bool undoes = def && !def->undoes().empty();
    if (!def || !(undoes || def->facts().rounds))
      return {};
    Value value = node->getOperand(0);
    if (undoes)
      value = inputOfProducer(value, def->undoes(), constants);
    auto from = value ? dyn_cast<TensorType>(value.getType()) : TensorType();
    auto to = dyn_cast<TensorType>(node->getResult(0).getType());
    return from && to && from.getElementType() == to.getElementType() &&
                   tf_type::areCompatible(from, to)
               ? value
               : Value();
  }

  /// Returns the input of the op that produced `value`, looking through forwarding nodes.
  static Value inputOfProducer(Value value, StringRef op, const tfg::Constants &constants) {
    tfg::Node node;
    while (!constants.isFed(value) && (node = tfg::definingNode(value)) &&
           node.opType() == "Identity" && node.numControl() == 0)
      value = node->getOperand(0);
    bool isMade =
        node && node.opType() == op && value == node->getResult(0) && !constants.isFed(value);
    return isMade ? node->getOperand(0) : Value();
  }

  static void replace(tfg::Node node, Value exact) {
    OpBuilder builder(node.getOperation());
    tfg::Node identity = tfg::forwardValues(builder, exact, node->getResult(0).getType())
                             .name(node.name())
                             .placedAs(node)
                             .control(node.control())
                             .build();
    node->replaceAllUsesWith(identity.getOperation());
    node->erase();
  }
};

} // namespace
} // namespace treadle
