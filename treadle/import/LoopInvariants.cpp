#include "treadle/import/LoopInvariants.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace treadle::tf_executor;

/// Whether the Switch decides whether a loop goes on.
static bool isLoopSwitch(SwitchOp op) {
  return llvm::any_of(op->getUsers(), llvm::IsaPred<ExitOp>) ||
         op.getPredicate().getDefiningOp<LoopCondOp>();
}

/// What `op` uses, inside its island too.
static void forEachInput(Operation *op, llvm::function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
}

/// Adds the Enters that `predicate` needs in every iteration. False if no value of an iteration
/// before goes into it: then the loop ends in the first iteration or never.
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

SmallVector<EnterOp> treadle::graphdef::findForgottenConstants(GraphOp graph) {
  // A loop has a Switch for each of its variables, with one predicate.
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
