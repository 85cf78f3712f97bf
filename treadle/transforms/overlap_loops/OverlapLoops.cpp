// tfg-overlap-loops: lowers loops whose iterations chains order to frames, in which they overlap.
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "treadle/transforms/deps_to_chains/Gain.h"
#include "treadle/transforms/overlap_loops/FrameLowering.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_OVERLAPLOOPS
#include "treadle/transforms/Passes.h.inc"

namespace {

struct OverlapLoops : impl::OverlapLoopsBase<OverlapLoops> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::EffectAnalysis analysis(getOperation());
    tfg::BlockingNodes waiting(getOperation());
    tfg::FrameLowering lowering(getOperation());
    for (const tfg::LoopOrder &order : tfg::planLoops(getOperation(), analysis, LoopOverlap::On))
      if (order.obstacle.empty() && !order.needsChange() && lowering.obstacle(order.loop).empty() &&
          (all || tfg::estimate(order, analysis, waiting).isFasterOverlapped()))
        lowering.choose(order.loop.node);
    for (tfg::OrderEdge edge : lowering.missingEdges(analysis))
      tfg::addControl(edge.to, edge.from.controlResult());
    numLowered += lowering.run();
  }
};

} // namespace
} // namespace treadle
