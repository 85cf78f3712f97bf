#include "treadle/codegen/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"

using namespace mlir;

namespace treadle::codegen {

bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

bool isNative(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return complex.getElementType().isF32() || complex.getElementType().isF64();
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignlessInteger(1) ||
           (integer.getWidth() >= 8 && integer.getWidth() <= 64 &&
            llvm::isPowerOf2_32(integer.getWidth()) && !integer.isSigned());
  return type.isF32() || type.isF64() || isHalf(type);
}

Type computedIn(Type type) {
  return type.isUnsignedInteger()
             ? IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth())
             : type;
}

Value reinterpreted(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (auto made = value.getDefiningOp<UnrealizedConversionCastOp>();
      made && made.getOperand(0).getType() == type)
    return made.getOperand(0);
  return UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
}

Value widened(OpBuilder &b, Location loc, Value value) {
  return isHalf(value.getType()) ? arith::ExtFOp::create(b, loc, b.getF32Type(), value) : value;
}

Value narrowed(OpBuilder &b, Location loc, Value value, Type type) {
  return isHalf(type) ? arith::TruncFOp::create(b, loc, type, value) : value;
}

Parts partsOf(OpBuilder &b, Location loc, Value value) {
  return {b.createOrFold<complex::ReOp>(loc, value), b.createOrFold<complex::ImOp>(loc, value)};
}

Value complexOf(OpBuilder &b, Location loc, Parts parts) {
  auto type = ComplexType::get(parts.first.getType());
  return b.createOrFold<complex::CreateOp>(loc, type, parts.first, parts.second);
}

Value zeroOf(OpBuilder &b, Location loc, Type type) {
  if (auto complex = dyn_cast<ComplexType>(type)) {
    Value none = zeroOf(b, loc, complex.getElementType());
    return complexOf(b, loc, {none, none});
  }
  Type computed = computedIn(type);
  return reinterpreted(b, loc, arith::ConstantOp::create(b, loc, b.getZeroAttr(computed)), type);
}

Value selected(OpBuilder &b, Location loc, Value condition, Value value, Value otherwise) {
  if (!isa<ComplexType>(value.getType()))
    return b.createOrFold<arith::SelectOp>(loc, condition, value, otherwise);
  Parts x = partsOf(b, loc, value), y = partsOf(b, loc, otherwise);
  return complexOf(b, loc,
                   {selected(b, loc, condition, x.first, y.first),
                    selected(b, loc, condition, x.second, y.second)});
}

} // namespace treadle::codegen
