// tfg-order: adds automatic control dependencies, so that nodes with conflicting side effects run
// in the order of the graph.
#include "treadle/transforms/Passes.h"

#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/order/BodyOrder.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_ORDER
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

/// Returns whether the body has no v1 control flow; otherwise emits a remark.
bool isStraight(Block &body) {
  Node node = firstV1Node(body);
  if (node)
    node->emitRemark() << "node '" << node.name() << "' (" << node.opType()
                       << ") is v1 control flow, so this body isn't ordered; run "
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
        tfg::returnControl(function.getReturn(), tfg::unawaitedEffects(function, effects));
    });
  }
};

} // namespace
} // namespace treadle
