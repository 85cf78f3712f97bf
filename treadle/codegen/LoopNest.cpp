#include "treadle/codegen/LoopNest.h"
#include "treadle/codegen/FloatMath.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Copies the body of a loop nest, without the parts that are unreachable in the current ranges.
class BodyCopy {
public:
  BodyCopy(OpBuilder &b, IRMapping &mapping, const Ranges &ranges, ArrayRef<Value> indices)
      : b(b), mapping(mapping), ranges(ranges), indices(indices) {}

  void copy(Block &block) {
    for (Operation &op : block)
      if (!op.hasTrait<OpTrait::IsTerminator>())
        copy(op);
  }

private:
  void copy(Operation &op) {
    Location loc = op.getLoc();
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      return mapping.map(index.getResult(), indices[index.getDim()]);
    if (op.getNumResults() == 1 && op.getResult(0).getType().isInteger(1) && !op.getNumRegions())
      if (std::optional<bool> truth = ranges.truth(op.getResult(0))) {
        Value known = arith::ConstantOp::create(b, loc, b.getBoolAttr(*truth));
        return mapping.map(op.getResult(0), known);
      }
    if (auto branch = dyn_cast<scf::IfOp>(op))
      if (std::optional<bool> truth = ranges.truth(branch.getCondition()))
        return copyTaken(branch, *truth ? branch.getThenRegion() : branch.getElseRegion());
    if (op.getNumRegions())
      return copyWithRegions(op);
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(mapping.lookupOrDefault(operand));
    if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
      Value expanded = affine::expandAffineMap(b, loc, apply.getAffineMap(), operands)->front();
      return mapping.map(apply.getResult(), expanded);
    }
    if (Value expanded = expandFloatMath(b, &op, operands))
      mapping.map(op.getResult(0), expanded);
    else
      b.clone(op, mapping);
  }

  void copyTaken(scf::IfOp branch, Region &side) {
    if (side.empty())
      return;
    copy(side.front());
    for (auto [result, value] :
         llvm::zip(branch.getResults(), side.front().getTerminator()->getOperands()))
      mapping.map(result, mapping.lookupOrDefault(value));
  }

  void copyWithRegions(Operation &op) {
    Operation *made = b.cloneWithoutRegions(op, mapping);
    for (auto [from, to] : llvm::zip(op.getRegions(), made->getRegions())) {
      if (from.empty())
        continue;
      OpBuilder::InsertionGuard guard(b);
      Block &block = from.front();
      SmallVector<Location> locations(block.getNumArguments(), op.getLoc());
      Block *into = b.createBlock(&to, {}, block.getArgumentTypes(), locations);
      mapping.map(block.getArguments(), into->getArguments());
      copy(block);
      b.clone(*block.getTerminator(), mapping);
    }
  }

  OpBuilder &b;
  IRMapping &mapping;
  const Ranges &ranges;
  ArrayRef<Value> indices;
};

} // namespace

void LoopNest::loop(Value begin, Value end, Inside inside) {
  Location loc = b.getUnknownLoc();
  auto made = scf::ForOp::create(b, loc, begin, end, arith::ConstantIndexOp::create(b, loc, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  inside(made.getInductionVar());
}

void LoopNest::split(unsigned number, int64_t size, Inside inside) {
  split(number, {0, size}, inside);
  ranges[number] = {};
}

void LoopNest::split(unsigned number, Range range, Inside inside) {
  constexpr int64_t shortRange = 8;
  constexpr unsigned maxSplits = 16;
  ranges[number] = range;
  bool isInnermost = number + 1 == numLoops;
  std::optional<int64_t> place;
  if (numSplits < maxSplits && (!isInnermost || range.end - range.begin > shortRange))
    place = ranges.placeToSplit(body, number, isInnermost);
  if (place) {
    ++numSplits;
    split(number, {range.begin, *place}, inside);
    return split(number, {*place, range.end}, inside);
  }
  Location loc = b.getUnknownLoc();
  Value begin = arith::ConstantIndexOp::create(b, loc, range.begin);
  if (range.begin + 1 == range.end)
    return inside(begin);
  loop(begin, arith::ConstantIndexOp::create(b, loc, range.end), inside);
}

void LoopNest::copyBody(ArrayRef<Value> indices, IRMapping &mapping) {
  BodyCopy(b, mapping, ranges, indices).copy(body);
}

} // namespace treadle::codegen
