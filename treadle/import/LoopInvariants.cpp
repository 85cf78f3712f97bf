#include "treadle/import/LoopInvariants.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace treadle::tf_executor;

/// Whether the Switch is controlled by the loop condition.
static bool isLoopSwitch(SwitchOp op) {
  return llvm::any_of(op->getUsers(), llvm::IsaPred<ExitOp>) ||
         op.getPredicate().getDefiningOp<LoopCondOp>();
}

/// Visits the inputs of `op`, including those of its island.
static void forEachInput(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
}

/// Collects the Enters that `predicate` depends on in every iteration. Returns false if the
/// predicate depends on no value of an earlier iteration: then the loop either ends in the first
/// iteration or never.
static bool collectEnters(Value predicate, llvm::SetVector<Operation *> &enters) {
  llvm::SetVector<Operation *> seen;
  bool isCarried = false;
  auto add = [&](Value value, bool isMerged) {
    Operation *from = value.getDefiningOp();
    isCarried |= isa_and_nonnull<NextIterationSourceOp>(from);
    if (isa_and_nonnull<EnterOp>(from) && !isMerged)
      enters.insert(from);
    else if (from && !isa<EnterOp, ExitOp, NextIterationSourceOp>(from))
      seen.insert(from);
  };
  add(predicate, false);
  for (size_t i = 0; i < seen.size(); ++i)
    forEachInput(seen[i], [&](Value value) { add(value, isa<MergeOp>(seen[i])); });
  return isCarried;
}

SmallVector<EnterOp> treadle::graphdef::findNonconstantInvariants(GraphOp graph) {
  // A loop has one Switch for each of its variables, all with the same predicate.
  llvm::SetVector<Value> predicates;
  for (auto op : graph.getEntry().getOps<SwitchOp>())
    if (isLoopSwitch(op))
      predicates.insert(op.getPredicate());
  llvm::SetVector<Operation *> found;
  for (Value predicate : predicates) {
    llvm::SetVector<Operation *> enters;
    if (collectEnters(predicate, enters))
      found.insert_range(enters);
  }
  SmallVector<EnterOp> result;
  for (Operation *op : found)
    if (auto enter = cast<EnterOp>(op); !enter.getIsConstant())
      result.push_back(enter);
  return result;
}
