#include "treadle/codegen/ReductionStarts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace treadle::codegen {

static bool reducesNothing(ArrayRef<int64_t> shape, ArrayRef<bool> isReduced) {
  return llvm::any_of(llvm::zip(shape, isReduced), [](auto dim) {
    auto [size, isGone] = dim;
    return isGone && size == 0;
  });
}

std::optional<ReductionStarts> ReductionStarts::make(OpBuilder &b, Location loc, ValueRange values,
                                                     ArrayRef<int64_t> shape,
                                                     ArrayRef<bool> isReduced) {
  ReductionStarts starts;
  starts.values.assign(values.begin(), values.end());
  starts.isReduced.assign(isReduced.begin(), isReduced.end());
  for (Value value : values) {
    if (matchPattern(value, m_Constant())) {
      starts.constants.push_back(value);
      continue;
    }
    Type type = value.getType();
    if (!(type.isSignlessInteger() || isa<FloatType>(type)) || reducesNothing(shape, isReduced))
      return std::nullopt;
    starts.constants.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  }
  return starts;
}

SmallVector<Value> ReductionStarts::before(OpBuilder &b, Location loc, ValueRange results) const {
  SmallVector<Value> sums(results);
  if (constants == values)
    return sums;
  Value first = isFirst(b, loc);
  for (auto [sum, constant, value] : llvm::zip(sums, constants, values))
    if (constant != value)
      sum = arith::SelectOp::create(b, loc, first, value, sum);
  return sums;
}

/// Whether all indices of the reduction are 0.
Value ReductionStarts::isFirst(OpBuilder &b, Location loc) const {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0), first;
  for (auto [dim, isGone] : llvm::enumerate(isReduced)) {
    if (!isGone)
      continue;
    Value index = linalg::IndexOp::create(b, loc, dim);
    Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, zero);
    first = first ? arith::AndIOp::create(b, loc, first, isZero).getResult() : isZero;
  }
  return first;
}

} // namespace treadle::codegen
