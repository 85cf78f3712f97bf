// tfg-deps-to-chains: replaces barriers between the iterations of a loop with loop variables.
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "treadle/transforms/deps_to_chains/ChainBuilder.h"
#include "treadle/transforms/deps_to_chains/ChainLoops.h"
#include "treadle/transforms/deps_to_chains/Gain.h"
#include "treadle/transforms/deps_to_chains/LoopForms.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_DEPSTOCHAINS
#include "treadle/transforms/Passes.h.inc"

namespace {

struct DepsToChains : impl::DepsToChainsBase<DepsToChains> {
  using Base::Base;

  void runOnOperation() override {
    Expected<LoopOverlap> mode = parseLoopOverlap(loopOverlap.getValue());
    if (!mode) {
      getOperation().emitError() << "option loop-overlap: " << mode.error().message;
      return signalPassFailure();
    }
    if (*mode == LoopOverlap::Off)
      return;
    tfg::ChainedLoops loops = tfg::chainLoops(getOperation(), *mode, onlyGaining);
    numChained += loops.changed;
    numKept += loops.kept;
  }
};

} // namespace

namespace tfg {

static ChainedLoops addChains(ModuleOp module, LoopOverlap mode, bool onlyGaining) {
  ChainedLoops counts;
  EffectAnalysis effects(module);
  std::vector<LoopOrder> loops = planLoops(module, effects, mode);
  BlockingNodes waiting(module);
  for (const LoopOrder &order : loops)
    if (!order.obstacle.empty()) {
      ++counts.kept;
      order.loop.node->emitRemark()
          << "node '" << order.loop.node.name() << "' (" << order.loop.node.opType()
          << ") isn't changed: " << order.obstacle;
    }
  if (onlyGaining)
    llvm::erase_if(loops, [&](const LoopOrder &order) {
      return !order.obstacle.empty() || !estimate(order, effects, waiting).isFasterOverlapped();
    });
  counts.changed = buildChains(module, loops);
  return counts;
}

/// Converts loops of other forms to While nodes in a copy of the module, and takes over the copy if
/// it changes.
ChainedLoops chainLoops(ModuleOp module, LoopOverlap mode, bool onlyGaining) {
  if (!LoopForms::areNeeded(module)) {
    SoftEdges soft(module);
    return addChains(module, mode, onlyGaining);
  }
  OwningOpRef<ModuleOp> copy(module.clone());
  ChainedLoops counts;
  {
    SoftEdges soft(*copy);
    LoopForms forms(*copy);
    forms.toWhile();
    counts = addChains(*copy, mode, onlyGaining);
    forms.restore();
  }
  if (counts.changed != 0)
    module.getBodyRegion().takeBody(copy->getBodyRegion());
  return counts;
}

} // namespace tfg
} // namespace treadle
