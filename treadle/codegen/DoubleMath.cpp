// Emits the formulas of kernels/elementwise/DoubleFormulas.h.
#include "treadle/codegen/FloatMath.h"
#include "treadle/codegen/RealEmitter.h"
#include "treadle/kernels/elementwise/DoubleFormulas.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Emits operations over f64 and i64.
struct DoubleEmitter : RealEmitter {
  using Real = Value;
  using Word = Value;
  using Truth = Value;

  DoubleEmitter(OpBuilder &b, Location loc) : RealEmitter{b, loc, b.getF64Type()} {}

  Value integer(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }
  Value fma(Value x, Value y, Value z) { return LLVM::FMulAddOp::create(b, loc, type, x, y, z); }
  Value floor(Value x) { return of<math::FloorOp>(x); }
  Value less(Value x, Value y) { return isLess(x, y); }
  Value equal(Value x, Value y) { return isEqual(x, y); }
  Value negation(Value x) {
    return arith::XOrIOp::create(b, loc, x, arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, b.getI64Type(), x); }
  Value real(Value bits) { return arith::BitcastOp::create(b, loc, type, bits); }
  Value addBits(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subBits(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value andBits(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value orBits(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value shiftLeft(Value x, int by) { return arith::ShLIOp::create(b, loc, x, integer(by)); }
  Value shiftRight(Value x, int by) { return arith::ShRUIOp::create(b, loc, x, integer(by)); }
};

} // namespace

Value expandDoubleMath(OpBuilder &b, Operation *op, ValueRange operands) {
  DoubleEmitter e(b, op->getLoc());
  if (isa<math::PowFOp>(op))
    return formulas::pow(e, operands[0], operands[1]);
  using Formula = Value (*)(DoubleEmitter &, Value);
  auto formula = llvm::TypeSwitch<Operation *, Formula>(op)
                     .Case([](math::ExpOp) { return formulas::exp<DoubleEmitter>; })
                     .Case([](math::ExpM1Op) { return formulas::expm1<DoubleEmitter>; })
                     .Case([](math::TanhOp) { return formulas::tanh<DoubleEmitter>; })
                     .Case([](math::LogOp) { return formulas::log<DoubleEmitter>; })
                     .Case([](math::Log1pOp) { return formulas::log1p<DoubleEmitter>; })
                     .Case([](math::ErfOp) { return formulas::erf<DoubleEmitter>; })
                     .Case([](math::ErfcOp) { return formulas::erfc<DoubleEmitter>; })
                     .Default([](Operation *) { return nullptr; });
  return formula ? formula(e, operands[0]) : Value();
}

} // namespace treadle::codegen
