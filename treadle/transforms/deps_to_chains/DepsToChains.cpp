// tfg-deps-to-chains: the order between the iterations of a loop becomes values that go around it.
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

#include "treadle/transforms/deps_to_chains/ChainBuilder.h"
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
    tfg::SoftEdges soft(getOperation());
    std::optional<LoopOverlap> mode = parseMode();
    if (!mode)
      return signalPassFailure();
    if (*mode == LoopOverlap::Off)
      return;
    tfg::LoopForms forms(getOperation());
    forms.toWhile();
    addChains(*mode);
    forms.restore();
  }

private:
  void addChains(LoopOverlap mode) {
    tfg::EffectAnalysis effects(getOperation());
    std::vector<tfg::LoopOrder> loops = tfg::planLoops(getOperation(), effects, mode);
    tfg::WaitingNodes waiting(getOperation());
    for (const tfg::LoopOrder &order : loops)
      if (!order.obstacle.empty()) {
        ++numKept;
        order.loop.node->emitRemark() << "node '" << order.loop.node.name() << "' ("
                                      << order.loop.node.opType() << ") stays: " << order.obstacle;
      }
    if (onlyGaining)
      llvm::erase_if(loops, [&](const tfg::LoopOrder &order) {
        return !order.obstacle.empty() || !tfg::estimate(order, effects, waiting).gains();
      });
    numChained += tfg::buildChains(getOperation(), loops);
  }

  std::optional<LoopOverlap> parseMode() {
    Expected<LoopOverlap> mode = treadle::parseLoopOverlap(loopOverlap.getValue());
    if (mode)
      return *mode;
    getOperation().emitError() << "option loop-overlap: " << mode.error().message;
    return std::nullopt;
  }
};

} // namespace
} // namespace treadle
