// Hoists loop-invariant ops.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Whether an op may run even if the loop body doesn't. If a kernel, reshape, cast or check fails,
/// compiled code bails out, and the interpreter finds out whether the loop reaches it at all.
bool maySpeculate(Operation &op) {
  if (op.hasAttr(rc::staysAttr))
    return false;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return generic.getNumDpsInputs() > 0; // others are cheap to recompute at their uses
  if (isa<rc::KernelOp, rc::ReshapeOp, rc::CheckOp, linalg::FillOp, tensor::EmptyOp, tensor::DimOp,
          tensor::CastOp, tensor::ExtractOp, tensor::FromElementsOp>(op))
    return true;
  return op.getNumRegions() == 0 && isMemoryEffectFree(&op) && isSpeculatable(&op);
}

class Hoister {
public:
  explicit Hoister(scf::WhileOp loop) : loop(loop) {}

  void run() {
    for (Region *region : {&loop.getBefore(), &loop.getAfter()})
      for (Operation &op : llvm::make_early_inc_range(region->front().without_terminator()))
        if (maySpeculate(op) && isInvariant(op))
          op.moveBefore(loop);
  }

private:
  bool isOutside(Value value) { return !loop->isAncestor(value.getParentBlock()->getParentOp()); }

  bool isInvariant(Operation &op) {
    llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), used);
    return llvm::all_of(used, [&](Value value) { return isOutside(value); });
  }

  scf::WhileOp loop;
};

} // namespace

void hoistInvariants(ModuleOp module) {
  SmallVector<scf::WhileOp> loops; // inner loops first
  module.walk([&](scf::WhileOp loop) { loops.push_back(loop); });
  for (scf::WhileOp loop : loops)
    Hoister(loop).run();
}

} // namespace treadle::codegen
