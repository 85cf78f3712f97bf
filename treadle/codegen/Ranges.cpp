#include "treadle/codegen/Ranges.h"
#include "treadle/codegen/Rc.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {

/// Returns the loop whose index a value is; nullopt for other values.
static std::optional<unsigned> loopOf(Value value) {
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return static_cast<unsigned>(index.getDim());
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && isa<rc::WriteOp>(argument.getOwner()->getParentOp()))
    return argument.getArgNumber();
  return std::nullopt;
}

/// Evaluates `predicate` on two numbers.
static bool holds(arith::CmpIPredicate predicate, int64_t x, int64_t y) {
  return arith::applyCmpPredicate(predicate, APInt(64, x, true), APInt(64, y, true));
}

std::optional<Ranges::Sum> Ranges::sumOf(Value value) const {
  if (std::optional<unsigned> loop = loopOf(value))
    return Sum{loop};
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return Sum{std::nullopt, *constant};
  Operation *op = value.getDefiningOp();
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
    std::optional<bool> chosen = truth(select.getCondition());
    return chosen ? sumOf(*chosen ? select.getTrueValue() : select.getFalseValue()) : std::nullopt;
  }
  if (auto apply = dyn_cast_if_present<affine::AffineApplyOp>(op)) {
    // The index of one loop, as written by fusion.
    auto dim = dyn_cast<AffineDimExpr>(apply.getAffineMap().getResult(0));
    return dim ? sumOf(apply.getMapOperands()[dim.getPosition()]) : std::nullopt;
  }
  if (!isa_and_present<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<Sum> a = sumOf(op->getOperand(0)), b = sumOf(op->getOperand(1));
  bool subtracts = isa<arith::SubIOp>(op);
  if (!a || !b || (a->loop && b->loop) || (subtracts && b->loop))
    return std::nullopt;
  return Sum{a->loop ? a->loop : b->loop, a->offset + (subtracts ? -b->offset : b->offset)};
}

std::optional<bool> Ranges::truth(Value condition) const {
  Operation *op = condition.getDefiningOp();
  if (std::optional<int64_t> constant = getConstantIntValue(condition))
    return *constant != 0;
  if (isa_and_present<arith::AndIOp, arith::OrIOp>(op)) {
    std::optional<bool> a = truth(op->getOperand(0)), b = truth(op->getOperand(1));
    bool decides = isa<arith::OrIOp>(op); // one operand alone decides the result
    if (a == decides || b == decides)
      return decides;
    return a && b ? std::optional(!decides) : std::nullopt;
  }
  auto compare = dyn_cast_if_present<arith::CmpIOp>(op);
  if (!compare || !compare.getLhs().getType().isIndex())
    return std::nullopt;
  std::optional<Sum> a = sumOf(compare.getLhs()), b = sumOf(compare.getRhs());
  if (!a || !b || b->loop || !a->loop || !ofLoops[*a->loop].isKnown())
    return std::nullopt;
  // A comparison with a constant has the same result everywhere in a range in which it doesn't
  // change.
  if (placeIn(condition, *a->loop))
    return std::nullopt;
  return holds(compare.getPredicate(), ofLoops[*a->loop].begin + a->offset, b->offset);
}

/// Returns the position inside the range at which a comparison of the loop's index changes.
std::optional<int64_t> Ranges::placeIn(Value condition, unsigned loop) const {
  Operation *op = condition.getDefiningOp();
  if (isa_and_present<arith::AndIOp, arith::OrIOp>(op)) {
    if (truth(condition))
      return std::nullopt;
    std::optional<int64_t> first = placeIn(op->getOperand(0), loop);
    return first ? first : placeIn(op->getOperand(1), loop);
  }
  auto compare = dyn_cast_if_present<arith::CmpIOp>(op);
  Range range = ofLoops[loop];
  if (!compare || !compare.getLhs().getType().isIndex() || !range.isKnown())
    return std::nullopt;
  std::optional<Sum> a = sumOf(compare.getLhs()), b = sumOf(compare.getRhs());
  if (!a || !b || b->loop || a->loop != loop)
    return std::nullopt;
  // Candidates: the index at which both sides are equal, the next one, and the one where the left
  // side is zero, at which unsigned comparisons change.
  int64_t equal = b->offset - a->offset;
  auto at = [&](int64_t index) {
    return holds(compare.getPredicate(), index + a->offset, b->offset);
  };
  for (int64_t place : {equal, equal + 1, -a->offset})
    if (place > range.begin && place < range.end && at(place) != at(place - 1))
      return place;
  return std::nullopt;
}

std::optional<int64_t> Ranges::placeToSplit(Block &body, unsigned loop, bool countsChoices) const {
  for (Operation &op : body) {
    if (auto select = dyn_cast<arith::SelectOp>(op); select && countsChoices)
      if (std::optional<int64_t> place = placeIn(select.getCondition(), loop))
        return place;
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch)
      continue;
    if (std::optional<int64_t> place = placeIn(branch.getCondition(), loop))
      return place;
    std::optional<bool> taken = truth(branch.getCondition());
    for (bool side : {true, false}) {
      Region &region = side ? branch.getThenRegion() : branch.getElseRegion();
      if (region.empty() || taken == !side)
        continue;
      if (std::optional<int64_t> place = placeToSplit(region.front(), loop, countsChoices))
        return place;
    }
  }
  return std::nullopt;
}

} // namespace treadle::codegen
