#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/deps_to_chains/Gain.h"
#include "treadle/transforms/remap/Remapper.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_REMAP
#include "treadle/transforms/Passes.h.inc"

namespace {

using Rewrite = tfg::Node (*)(tfg::Remapper &, tfg::Node);

struct Remap : impl::RemapBase<Remap> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    llvm::StringSet<> kept;
    for (const std::string &name : keep)
      kept.insert(name);
    tfg::Constants constants;
    if (failed(tfg::markFed(getOperation(), llvm::to_vector(feeds), constants)))
      return signalPassFailure();
    tfg::WaitingNodes waiting(getOperation(), tfg::WaitingNodes::ForOthers);
    tfg::forEachBody(getOperation(), [&](Block &body) {
      tfg::ExchangeOrder exchanges(body, waiting);
      tfg::Remapper remapper(body, constants, kept, exchanges, oneDnn);
      remap(body, remapper);
    });
  }

private:
  // The last node of a chain finds the longest one, so users come before what they use. What a
  // rewrite takes in is passed by.
  void remap(Block &body, tfg::Remapper &remapper) {
    SmallVector<Rewrite> rewrites;
    if (layerNorm && oneDnn)
      rewrites.push_back(tfg::fuseLayerNorm);
    if (contractions)
      rewrites.push_back(tfg::fuseContraction);
    if (batchNorm && oneDnn)
      rewrites.push_back(tfg::fuseBatchNorm);
    std::vector<Operation *> order = tfg::topologicalOrder(body);
    for (Operation *op : llvm::reverse(order)) {
      tfg::Node node(op);
      if (!tfg::Node::isNode(op) || node.numResults() == 0 || remapper.isTaken(node))
        continue;
      for (Rewrite rewrite : rewrites)
        if (rewrite(remapper, node))
          break;
    }
    if (isa<tfg::FuncOp>(body.getParentOp()))
      remapper.eraseTaken();
  }
};

} // namespace
} // namespace treadle
