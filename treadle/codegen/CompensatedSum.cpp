#include "treadle/codegen/CompensatedSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace treadle::codegen {

CompensatedSum compensatedSum(OpBuilder &b, Location loc, CompensatedSum before, Value added) {
  auto minus = [&](Value x, Value y) { return arith::SubFOp::create(b, loc, x, y).getResult(); };
  auto plus = [&](Value x, Value y) { return arith::AddFOp::create(b, loc, x, y).getResult(); };
  Value sum = plus(before.sum, added), taken = minus(sum, before.sum);
  Value error = plus(minus(before.sum, minus(sum, taken)), minus(added, taken));
  return {sum, plus(before.lost, error)};
}

Value roundedSum(OpBuilder &b, Location loc, CompensatedSum sum) {
  // If the sum is infinite, the error term is NaN.
  Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, sum.lost, sum.lost);
  Value whole = arith::AddFOp::create(b, loc, sum.sum, sum.lost);
  return arith::SelectOp::create(b, loc, isNumber, whole, sum.sum);
}

} // namespace treadle::codegen
