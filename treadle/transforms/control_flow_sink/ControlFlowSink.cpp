#include "treadle/dialect/Regions.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_CONTROLFLOWSINK
#include "treadle/transforms/Passes.h.inc"

namespace {

using namespace tfg;

/// The branch in which all uses of the node are, its token's too; null if there is no such branch.
Region *onlyBranchWithUses(Node node) {
  Block *body = node->getBlock();
  Region *branch = nullptr;
  for (Operation *user : node->getUsers()) {
    Operation *op = body->findAncestorOpInBlock(*user);
    auto form = op && op != user ? regionFormOf(op) : std::nullopt;
    if (form != RegionForm::If && form != RegionForm::Case)
      return nullptr;
    Region *region = user->getParentRegion();
    while (region->getParentOp() != op)
      region = region->getParentOp()->getParentRegion();
    if (branch && branch != region)
      return nullptr;
    branch = region;
  }
  return branch;
}

/// Values that runs give stay where they are found.

struct ControlFlowSink : impl::ControlFlowSinkBase<ControlFlowSink> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    kept.clear();
    for (StringRef name : keep)
      kept.insert(name);
    for (StringRef value : feeds)
      kept.insert(value.split(':').first);
    Effects effects(getOperation());
    forEachBody(getOperation(), [&](Block &body) {
      bool isGraph = isa<GraphOp>(body.getParentOp());
      if (graph || !isGraph)
        sink(body, effects, isGraph ? &kept : nullptr);
      sinkInside(body, effects);
    });
  }

private:
  /// Outer ones first: what went into a branch may go on into one inside it.
  void sinkInside(Block &body, Effects &effects) {
    for (Operation &op : body)
      for (Region &region : op.getRegions()) {
        sink(region.front(), effects, nullptr);
        sinkInside(region.front(), effects);
      }
  }

  // Users before what they use: that may have no other users then. What a node waited for, the
  // conditional waits for still, since the branch uses its token.
  void sink(Block &body, Effects &effects, const llvm::StringSet<> *keptNames) {
    llvm::DenseMap<Region *, std::unique_ptr<NameScope>> scopes;
    std::vector<Operation *> order = topologicalOrder(body);
    for (Operation *op : llvm::reverse(order)) {
      Node node(op);
      if (!Node::isNode(op) || isPlaceholder(node) ||
          (keptNames && keptNames->contains(node.name())))
        continue;
      Region *branch = onlyBranchWithUses(node);
      if (!branch || !(effects.isPure(node) || effects.hasPureRegions(node)))
        continue;
      std::unique_ptr<NameScope> &scope = scopes[branch];
      if (!scope)
        scope = std::make_unique<NameScope>(branch->front());
      if (!node.name().empty())
        node.setName(scope->unique(node.name()));
      op->moveBefore(&branch->front(), branch->front().begin());
      ++numSunk;
    }
  }

  llvm::StringSet<> kept;
};

} // namespace
} // namespace treadle
