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

/// Returns the branch that contains all uses of the node, including those of its control token;
/// null if there is none.
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
  /// Enclosing bodies first, because nodes that moved into a branch may move further.
  void sinkInside(Block &body, Effects &effects) {
    for (Operation &op : body)
      for (Region &region : op.getRegions()) {
        sink(region.front(), effects, nullptr);
        sinkInside(region.front(), effects);
      }
  }

  // Visits users before the nodes that they use, which may have no other users then. The
  // conditional keeps the dependencies of a moved node, because the branch uses its control inputs.
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
