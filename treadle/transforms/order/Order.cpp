// tfg-order: automatic control dependencies. Nodes whose effects conflict run in the order of the
// graph's definition.
#include "treadle/transforms/Passes.h"

#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/order/BodyOrder.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_ORDER
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// False, with a remark, for a body that has v1 control flow.
bool isStraight(Block &body) {
  Node node = firstV1Node(body);
  if (node)
    node->emitRemark() << "node '" << node.name() << "' (" << node.opType()
                       << ") is v1 control flow: the nodes of this body are left as they are; run "
                          "tfg-v1-to-functional first";
  return !node;
}

} // namespace
} // namespace tfg

namespace {

struct Order : impl::OrderBase<Order> {
  using OrderBase::OrderBase;

  void runOnOperation() override {
    tfg::EffectAnalysis effects(getOperation());
    tfg::forEachBody(getOperation(), [&](Block &body) {
      if ((isa<tfg::GraphOp>(body.getParentOp()) && !graph) || !tfg::isStraight(body))
        return;
      for (tfg::OrderEdge edge : tfg::missingOrder(body, effects))
        tfg::addControl(edge.to, edge.from.controlResult());
      if (auto function = dyn_cast<tfg::FuncOp>(body.getParentOp()))
        tfg::returnControl(function.getReturn(), tfg::notWaitedFor(function, effects));
    });
  }
};

} // namespace
} // namespace treadle
