// Powers of floats, computed in double precision: log2(x) * y keeps enough fractional bits, however
// large it is. The series are those of atanh and exp.
#include "treadle/codegen/FloatMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Emits operations over floats and the bits of doubles.
class Emitter {
public:
  Emitter(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  Value number(double value) { return like(b.getF64Type(), value); }
  Value like(Type type, double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return LLVM::FMulAddOp::create(b, loc, x.getType(), x, y, z);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value less(Value x, Value y) { return compare(arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(arith::CmpFPredicate::OEQ, x, y); }
  Value unequal(Value x, Value y) { return compare(arith::CmpFPredicate::UNE, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value select(Value condition, Value x, Value otherwise) {
    return arith::SelectOp::create(b, loc, condition, x, otherwise);
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, b.getI64Type(), x); }
  Value asDouble(Value bits) { return arith::BitcastOp::create(b, loc, b.getF64Type(), bits); }
  Value widened(Value x) { return arith::ExtFOp::create(b, loc, b.getF64Type(), x); }
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = number(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  OpBuilder &b;
  Location loc;
};

/// Adding and subtracting 1.5 * 2^52 rounds to an integer, which is then in the low bits.
constexpr double shifter = 6755399441055744.0;

/// log2 of a double converted from a float >= 0, so that it is normal or 0; relative error at most
/// 2^-40. Values that aren't finite are returned unchanged.
Value log2(Emitter &e, Value x) {
  OpBuilder &b = e.b;
  constexpr int64_t bitsOfRootOfHalf = 0x3fe6a09e667f3bcd;
  Value bits = e.bits(x), fifty2 = e.integer(52);
  // The exponent for a mantissa in [sqrt(1/2), sqrt(2)), converted to double through its low bits.
  Value from = arith::SubIOp::create(b, e.loc, bits, e.integer(bitsOfRootOfHalf));
  Value up = arith::AddIOp::create(b, e.loc, from, e.integer(int64_t{2048} << 52));
  Value exponent = arith::ShRUIOp::create(b, e.loc, up, fifty2); // biased by 2048, never negative
  Value shifted = arith::OrIOp::create(b, e.loc, exponent, e.integer(0x4330000000000000)); // 2^52
  Value whole = e.sub(e.asDouble(shifted), e.number(0x1p52 + 2048));
  Value fraction = arith::AndIOp::create(b, e.loc, from, e.integer((int64_t{1} << 52) - 1));
  Value mantissa =
      e.asDouble(arith::AddIOp::create(b, e.loc, fraction, e.integer(bitsOfRootOfHalf)));
  // ln m = 2 atanh s, with |s| < 0.1716.
  Value one = e.number(1);
  Value s = arith::DivFOp::create(b, e.loc, e.sub(mantissa, one), e.add(mantissa, one));
  Value square = e.mul(s, s);
  SmallVector<double> series;
  for (int k = 0; k < 7; ++k)
    series.push_back(2 * std::numbers::log2e / (2 * k + 1));
  Value result = e.fma(s, e.polynomial(square, series), whole);
  constexpr double inf = std::numeric_limits<double>::infinity();
  result = e.select(e.less(x, e.number(inf)), result, x);
  return e.select(e.equal(x, e.number(0)), e.number(-inf), result);
}

/// 2^x, beyond the range of floats at both ends for |x| >= 200; relative error at most 2^-32. NaN
/// is preserved.
Value exp2(Emitter &e, Value x) {
  OpBuilder &b = e.b;
  Value most = e.number(200), least = e.number(-200);
  x = e.select(e.less(most, x), most, x);
  x = e.select(e.less(x, least), least, x);
  Value shifted = e.add(x, e.number(shifter));
  Value r = e.sub(x, e.sub(shifted, e.number(shifter)));
  SmallVector<double> series = {1};
  for (int k = 1; k < 9; ++k)
    series.push_back(series.back() * std::numbers::ln2 / k);
  Value power = e.polynomial(r, series);
  Value exponent = arith::ShLIOp::create(b, e.loc, e.bits(shifted), e.integer(52));
  Value scaled = arith::AddIOp::create(b, e.loc, e.bits(power), exponent);
  // Adding to the bits of a NaN could change what it is.
  return e.select(e.equal(x, x), e.asDouble(scaled), x);
}

/// A power with a known small exponent, as products.
Value product(Emitter &e, Value x, Value y) {
  FloatAttr exponent;
  if (!matchPattern(y, m_Constant(&exponent)))
    return {};
  double value = exponent.getValueAsDouble();
  if (value == 1)
    return x;
  if (value == 2)
    return e.mul(x, x);
  if (value == 3)
    return e.mul(e.mul(x, x), x);
  if (value == 4)
    return e.mul(e.mul(x, x), e.mul(x, x));
  return {};
}

/// |x|^y.
Value powerOfMagnitude(Emitter &e, Value x, Value y) {
  Value size = math::AbsFOp::create(e.b, e.loc, x);
  Value log = log2(e, e.widened(size)), zero = e.number(0);
  // 1 to any power is 1, including infinite exponents.
  Value exponent = e.select(e.equal(log, zero), zero, e.mul(e.widened(y), log));
  return arith::TruncFOp::create(e.b, e.loc, e.b.getF32Type(), exp2(e, exponent));
}

/// The operations over floats and their bits.
class FloatEmitter : public Emitter {
public:
  using Emitter::Emitter;

  Value f32(double value) { return like(b.getF32Type(), value); }
  Value integer(int32_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value word(Value x) { return arith::BitcastOp::create(b, loc, b.getI32Type(), x); }
  Value asFloat(Value bits) { return arith::BitcastOp::create(b, loc, b.getF32Type(), bits); }
  Value addBits(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subBits(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  /// Moves the low 9 bits to the sign and exponent of a float.
  Value atExponent(Value bits) { return arith::ShLIOp::create(b, loc, bits, integer(23)); }
  /// NaN is preserved.
  Value within(Value x, double bound) {
    x = select(less(f32(bound), x), f32(bound), x);
    return select(less(x, f32(-bound)), f32(-bound), x);
  }
  Value powers(Value x, ArrayRef<double> coefficients) {
    Value sum = f32(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, f32(coefficient));
    return sum;
  }
};

/// log2 of a normal float in two parts: an integer, and a rest of at most 1/2.
struct Log2 {
  Value whole, rest;
};
Log2 fastLog2(FloatEmitter &e, Value size) {
  constexpr int32_t bitsOfRootOfHalf = 0x3f3504f3;
  // The exponent for a mantissa in [sqrt(1/2), sqrt(2)), and the mantissa minus 1.
  Value from = e.subBits(e.word(size), e.integer(bitsOfRootOfHalf));
  Value exponent = arith::ShRSIOp::create(e.b, e.loc, from, e.integer(23));
  Value fraction = arith::AndIOp::create(e.b, e.loc, from, e.integer((1 << 23) - 1));
  Value mantissa = e.asFloat(e.addBits(fraction, e.integer(bitsOfRootOfHalf)));
  Value m = e.sub(mantissa, e.f32(1));
  Value quotient = e.powers(m, {1.44269496, -0.721352788, 0.480923239, -0.360239623, 0.287098785,
                                -0.248877179, 0.234041814, -0.145809963});
  return {arith::SIToFPOp::create(e.b, e.loc, e.b.getF32Type(), exponent), e.mul(quotient, m)};
}

/// 2^r for |r| <= 1, times 2 to the power of the integer in the low bits of `shifted`.
Value fastExp2(FloatEmitter &e, Value shifted, Value r) {
  Value p = e.powers(r, {1, 0.693146978, 0.240222421, 0.0555073375, 0.00967151287, 0.00132647239});
  // Scales in two steps, since a single power of two may overflow or underflow.
  Value whole = e.word(shifted);
  Value first = e.atExponent(arith::ShRSIOp::create(e.b, e.loc, whole, e.integer(1)));
  Value second = e.subBits(e.atExponent(whole), first);
  for (Value power : {first, second})
    p = e.mul(p, e.asFloat(e.addBits(power, e.word(e.f32(1)))));
  return p;
}

/// Selects `power` if `size`^y is neither 0, 1 nor infinite and both are numbers; otherwise the
/// special value.
Value withEdges(FloatEmitter &e, Value size, Value y, Value power) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Value isTiny = e.less(size, e.f32(std::numeric_limits<float>::min()));
  Value grows = arith::XOrIOp::create(e.b, e.loc, isTiny, e.less(e.f32(0), y));
  Value isEdge = arith::OrIOp::create(e.b, e.loc, isTiny, e.equal(size, e.f32(inf)));
  power = e.select(isEdge, e.select(grows, e.f32(inf), e.f32(0)), power);
  power = e.select(e.equal(y, y), power, y);
  power = e.select(e.equal(size, e.f32(1)), e.f32(1), power); // for any y, including NaN
  return e.select(e.equal(size, size), power, size);
}

/// |x|^y in single precision: y * log2 |x| keeps its integer part separate, to preserve the
/// precision of the rest. Fitted coefficients.
Value fastPowerOfMagnitude(OpBuilder &b, Location loc, Value x, Value y) {
  constexpr double floatShifter = 12582912.0; // 1.5 * 2^23: adding it rounds to an integer
  FloatEmitter e(b, loc);
  Value size = math::AbsFOp::create(b, loc, x);
  auto [whole, rest] = fastLog2(e, size);
  // Exponents beyond 10^12 act like infinite ones.
  Value bounded = e.within(y, 1e12);
  Value part = e.mul(bounded, rest);
  Value sum = e.within(e.fma(bounded, whole, part), 200);
  Value shifted = e.add(sum, e.f32(floatShifter));
  Value negated = e.sub(e.f32(floatShifter), shifted);
  Value r = e.within(e.add(e.fma(bounded, whole, negated), part), 1);
  return withEdges(e, size, y, fastExp2(e, shifted, r));
}

} // namespace

Value expandPower(OpBuilder &b, Location loc, Value x, Value y, bool isFast) {
  Emitter e(b, loc);
  if (Value simple = product(e, x, y))
    return simple;
  Type f32 = b.getF32Type();
  Value result = isFast ? fastPowerOfMagnitude(b, loc, x, y) : powerOfMagnitude(e, x, y);
  // Negative bases allow integer exponents only; odd ones make the result negative.
  Value half = e.mul(y, e.like(f32, 0.5));
  Value isWhole = e.equal(math::FloorOp::create(b, loc, y), y);
  Value isOdd = e.both(isWhole, e.unequal(math::FloorOp::create(b, loc, half), half));
  result = e.select(isOdd, math::CopySignOp::create(b, loc, result, x), result);
  constexpr double inf = std::numeric_limits<double>::infinity();
  Value isNegative = e.both(e.less(x, e.like(f32, 0)), e.less(e.like(f32, -inf), x));
  Value isNone = e.both(isNegative, e.unequal(math::FloorOp::create(b, loc, y), y));
  result = e.select(isNone, e.like(f32, std::numeric_limits<double>::quiet_NaN()), result);
  // x^0 is 1, even if x is NaN.
  return e.select(e.equal(y, e.like(f32, 0)), e.like(f32, 1), result);
}

} // namespace treadle::codegen
