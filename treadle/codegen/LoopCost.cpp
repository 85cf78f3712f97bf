#include "treadle/codegen/LoopCost.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {

/// Returns the number of iterations of a loop that counts to a constant, otherwise an estimate.
static int64_t iterationsOf(scf::WhileOp loop) {
  constexpr int64_t unknown = 100;
  SmallVector<Value> conditions = {loop.getConditionOp().getCondition()};
  while (!conditions.empty()) {
    Operation *op = conditions.pop_back_val().getDefiningOp();
    if (isa_and_present<arith::AndIOp>(op))
      conditions.append(op->operand_begin(), op->operand_end());
    auto compare = dyn_cast_if_present<arith::CmpIOp>(op);
    std::optional<int64_t> bound = compare ? getConstantIntValue(compare.getRhs()) : std::nullopt;
    if (bound && compare.getPredicate() == arith::CmpIPredicate::slt)
      return std::clamp<int64_t>(*bound, 1, 1'000'000);
  }
  return unknown;
}

int64_t costOf(Block &body) {
  constexpr int64_t function = 700, loop = 20'000;
  int64_t cost = 100;
  for (Operation &inner : body) {
    if (auto branch = dyn_cast<scf::IfOp>(inner))
      cost += branch.elseBlock()
                  ? std::max(costOf(*branch.thenBlock()), costOf(*branch.elseBlock()))
                  : costOf(*branch.thenBlock());
    else if (auto repeated = dyn_cast<scf::WhileOp>(inner))
      cost += iterationsOf(repeated) *
              (costOf(*repeated.getBeforeBody()) + costOf(*repeated.getAfterBody()));
    else
      cost += inner.getNumRegions()                                                     ? loop
              : isa<math::MathDialect>(inner.getDialect()) && !isa<math::AbsFOp>(inner) ? function
                                                                                        : 100;
  }
  return cost;
}

int64_t costOf(linalg::GenericOp op) { return costOf(op.getRegion().front()); }

std::optional<int64_t> tripCountOf(Operation *op) {
  SmallVector<int64_t> sizes;
  auto add = [&](Value size) {
    sizes.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  };
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    sizes = generic.getStaticLoopRanges();
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    add(loop.getUpperBound());
  else
    llvm::for_each(cast<rc::WriteOp>(op).getSizes(), add);
  int64_t times = 1;
  for (int64_t size : sizes)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(times, size, times))
      return std::nullopt;
  return times;
}

bool isFlat(linalg::GenericOp op) {
  if (op.getNumReductionLoops())
    return false;
  Block &block = op.getRegion().front();
  if (!block.getOps<linalg::IndexOp>().empty())
    return false;
  return llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); });
}

} // namespace treadle::codegen
