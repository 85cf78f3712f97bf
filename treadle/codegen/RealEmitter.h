// Emits arithmetic on real numbers.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

#include <limits>

namespace treadle::codegen {

/// Emits operations on real numbers.
struct RealEmitter {
  using Value = mlir::Value;

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type; // a float type

  Value number(double value) const {
    return mlir::arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  Value add(Value x, Value y) const { return mlir::arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) const { return mlir::arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) const { return mlir::arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) const { return mlir::arith::DivFOp::create(b, loc, x, y); }
  Value negate(Value x) const { return mlir::arith::NegFOp::create(b, loc, x); }
  Value abs(Value x) const { return mlir::math::AbsFOp::create(b, loc, x); }
  Value sqrt(Value x) const { return mlir::math::SqrtOp::create(b, loc, x); }
  Value withSign(Value size, Value sign) const {
    return mlir::math::CopySignOp::create(b, loc, size, sign);
  }
  template <typename Op> Value of(Value x) const { return Op::create(b, loc, x); }
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) const {
    return mlir::arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value isLess(Value x, Value y) const { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
  Value isEqual(Value x, Value y) const { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }
  Value isZero(Value x) const { return isEqual(x, number(0)); }
  Value isInfinite(Value x) const {
    return isEqual(abs(x), number(std::numeric_limits<double>::infinity()));
  }
  Value isFinite(Value x) const {
    return isLess(abs(x), number(std::numeric_limits<double>::infinity()));
  }
  Value isNan(Value x) const { return compare(mlir::arith::CmpFPredicate::UNO, x, x); }
  Value both(Value x, Value y) const { return mlir::arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) const { return mlir::arith::OrIOp::create(b, loc, x, y); }
  Value select(Value condition, Value x, Value otherwise) const {
    return mlir::arith::SelectOp::create(b, loc, condition, x, otherwise);
  }
  Value larger(Value x, Value y) const { return select(isLess(x, y), y, x); }
  Value smaller(Value x, Value y) const { return select(isLess(x, y), x, y); }
};

} // namespace treadle::codegen
