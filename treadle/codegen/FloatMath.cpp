// The formulas are those of the runtime's kernels (kernels/VectorMath.h), with fewer instructions
// where a fused multiply-add is exact enough. Coefficients are from Cephes unless stated otherwise.
#include "treadle/codegen/FloatMath.h"
#include "treadle/codegen/RealEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Emits operations over f32 and i32.
class Emitter : public RealEmitter {
public:
  Emitter(OpBuilder &b, Location loc, bool isFast)
      : RealEmitter{b, loc, b.getF32Type()}, isFast(isFast) {}

  Value integer(int32_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  /// x * y + z, rounded once if the processor has fused multiply-add.
  Value fma(Value x, Value y, Value z) { return LLVM::FMulAddOp::create(b, loc, type, x, y, z); }
  Value fma(Value x, float y, Value z) { return fma(x, number(y), z); }
  Value less(Value x, Value y) { return isLess(x, y); }
  /// NaN is preserved.
  Value atMost(Value x, float bound) { return select(less(number(bound), x), number(bound), x); }
  Value atLeast(Value x, float bound) { return select(less(x, number(bound)), number(bound), x); }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, b.getI32Type(), x); }
  Value asFloat(Value bits) { return arith::BitcastOp::create(b, loc, type, bits); }
  Value addBits(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subBits(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  /// 2^exponent for an integer in [-126, 127].
  Value power(Value exponent) {
    return asFloat(arith::ShLIOp::create(b, loc, addBits(exponent, integer(127)), integer(23)));
  }
  /// Moves the low 9 bits to the sign and exponent of a float.
  Value atExponent(Value bits) { return arith::ShLIOp::create(b, loc, bits, integer(23)); }
  Value half(Value integral) { return arith::ShRSIOp::create(b, loc, integral, integer(1)); }

  /// Evaluates a polynomial; coefficients start with that of the highest power.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = number(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  const bool isFast; // with reduced accuracy
};

/// x as n * ln 2 + r. Adding and subtracting 1.5 * 2^23 rounds to an integer, which is then in the
/// low bits of `shifted`.
struct Reduced {
  Value shifted, whole;
};
constexpr float shifter = 12582912.0f;
constexpr int32_t shifterBits = 0x4b400000;
Reduced reduce(Emitter &e, Value x) {
  Value shifted = e.fma(x, 1.44269504f, e.number(shifter));
  return {e.bits(shifted), e.sub(shifted, e.number(shifter))};
}

/// e^x as a number around 1 times a power of two, whose exponent is in the low bits of `shifted`.
/// Fitted coefficients, error at most 1 unit in the last place.
struct Exponential {
  Value mantissa, shifted;
};
Exponential exponential(Emitter &e, Value x) {
  Reduced n = reduce(e, x);
  Value r = e.fma(n.whole, -1.42860677e-6f, e.fma(n.whole, -0.693145752f, x));
  Value p = e.polynomial(
      r, {1.3796303e-3f, 8.3735486e-3f, 4.1669474e-2f, 1.66664720e-1f, 0.49999994f, 1, 1});
  return {p, n.shifted};
}

/// e^x for x <= 90.
Value expOfBounded(Emitter &e, Value x) {
  auto [p, shifted] = exponential(e, x);
  // Scales in two steps, since a single power of two may overflow or underflow. The high bits of
  // the shifter are shifted out, whether the exponent is halved or not.
  Value one = e.bits(e.number(1));
  Value first = e.atExponent(e.half(shifted));
  Value second = e.subBits(e.atExponent(shifted), first);
  p = e.mul(p, e.asFloat(e.addBits(first, one)));
  return e.mul(p, e.asFloat(e.addBits(second, one)));
}

/// e^x for -80 < x < 80.
Value expOfSmall(Emitter &e, Value x) {
  auto [p, shifted] = exponential(e, x);
  return e.mul(p, e.asFloat(e.addBits(e.atExponent(shifted), e.bits(e.number(1)))));
}

/// Error at most 4 units in the last place; 0 if the result is below 2^-125. Scales by a single
/// power of two, which excludes the lowest ones; fitted coefficients.
Value fastExp(Emitter &e, Value x) {
  Value bounded = e.atLeast(e.atMost(x, 89), -87.33f);
  Reduced n = reduce(e, bounded);
  Value r = e.fma(n.whole, -1.42860677e-6f, e.fma(n.whole, -0.693145752f, bounded));
  Value p = e.polynomial(r, {8.31252223e-3f, 4.18901599e-2f, 1.66671146e-1f, 4.99992315e-1f, 1, 1});
  Value half = e.asFloat(e.addBits(e.atExponent(n.shifted), e.bits(e.number(0.5f))));
  return e.mul(e.add(p, p), half);
}

Value exp(Emitter &e, Value x) {
  if (e.isFast)
    return fastExp(e, x);
  // Skips the computation where the result is 0: a product below the least normal number takes a
  // hundred times as long.
  Value isZero = e.less(x, e.number(-104)), zero = e.number(0);
  return e.select(isZero, zero, expOfBounded(e, e.select(isZero, zero, e.atMost(x, 90))));
}

/// exp(x) - 1 without cancellation near 0.
Value expm1(Emitter &e, Value x) {
  Value bounded = e.atLeast(e.atMost(x, 90), -20);
  Reduced n = reduce(e, bounded);
  Value r = e.fma(n.whole, 2.12194440e-4f, e.fma(n.whole, -0.693359375f, bounded));
  Value p = e.polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                             1.6666665459e-1f, 5.0000001201e-1f});
  Value rest = e.fma(e.mul(p, r), r, r); // exp(r) - 1
  Value exponent = e.subBits(n.shifted, e.integer(shifterBits));
  Value first = e.half(exponent), second = e.subBits(exponent, first);
  Value power = e.power(first), inverse = e.power(e.subBits(e.integer(0), second));
  Value result = e.mul(e.fma(rest, power, e.sub(power, inverse)), e.power(second));
  Value tiny = e.less(e.abs(x), e.number(1e-5f));
  return e.select(tiny, e.withSign(e.fma(e.mul(x, x), e.number(0.5f), x), x), result);
}

/// m / (m + 2) with m = exp(2 x) - 1; error at most 3 units in the last place.
Value tanh(Emitter &e, Value x) {
  constexpr float bound = 18.1f; // for larger x, the result is 1
  Value twice = e.atLeast(e.atMost(e.add(x, x), bound), -bound);
  Reduced n = reduce(e, twice);
  Value r = e.fma(n.whole, -1.42860677e-6f, e.fma(n.whole, -0.693145752f, twice));
  Value p =
      e.polynomial(r, {1.3796303e-3f, 8.3735486e-3f, 4.1669474e-2f, 1.66664720e-1f, 0.49999994f});
  Value rest = e.fma(e.mul(p, r), r, r); // exp(r) - 1
  Value power = e.asFloat(e.addBits(e.atExponent(n.shifted), e.bits(e.number(1))));
  Value m = e.fma(rest, power, e.sub(power, e.number(1)));
  return e.withSign(e.div(m, e.add(m, e.number(2))), x); // -0 has lost its sign
}

/// ln(m) + exponent * ln 2 for m = mantissa + 1 around 1.
Value logOfParts(Emitter &e, Value mantissa, Value exponent) {
  Value square = e.mul(mantissa, mantissa);
  constexpr float most[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                            -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                            2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  constexpr float few[] = {-1.0191658e-1f, 1.60243729e-1f,  -1.71371428e-1f,
                           1.99245047e-1f, -2.49832662e-1f, 3.33342457e-1f};
  Value p = e.isFast ? e.polynomial(mantissa, few) : e.polynomial(mantissa, most);
  Value tail = e.fma(exponent, -2.12194440e-4f, e.mul(e.mul(p, mantissa), square));
  tail = e.fma(square, -0.5f, tail);
  return e.fma(exponent, 0.693359375f, e.add(mantissa, tail));
}

/// x as 2^exponent * (1 + fraction) with a mantissa in [sqrt(1/2), sqrt(2)), for a normal x > 0.
struct Parts {
  Value exponent, fraction;
  Value inverse; // 2^-exponent, for x < 2^120
};
Parts partsOf(Emitter &e, Value x) {
  Value bits = e.bits(x);
  Value exponent =
      arith::ShRSIOp::create(e.b, e.loc, e.subBits(bits, e.integer(0x3f3504f3)), e.integer(23));
  Value scale = arith::ShLIOp::create(e.b, e.loc, exponent, e.integer(23));
  return {arith::SIToFPOp::create(e.b, e.loc, e.b.getF32Type(), exponent),
          e.sub(e.asFloat(e.subBits(bits, scale)), e.number(1)),
          e.asFloat(e.subBits(e.bits(e.number(1)), scale))};
}

/// ln x for a normal x > 0, plus `offset` powers of two.
Value logOfNormal(Emitter &e, Value x, Value offset) {
  Parts parts = partsOf(e, x);
  return logOfParts(e, parts.fraction, offset ? e.add(parts.exponent, offset) : parts.exponent);
}

/// Replaces the logarithm of numbers that aren't positive and finite.
Value withLimits(Emitter &e, Value x, Value result) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  Value zero = e.number(0);
  Value isFinite = e.less(x, e.number(inf));
  result = e.select(isFinite, result, x);
  result = e.select(e.less(x, zero), e.number(std::numeric_limits<float>::quiet_NaN()), result);
  Value isZero = arith::CmpFOp::create(e.b, e.loc, arith::CmpFPredicate::OEQ, x, zero);
  return e.select(isZero, e.number(-inf), result);
}

/// The logarithm of a denormal number is that of 0.
Value fastLog(Emitter &e, Value x) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  Value result = e.select(e.less(x, e.number(inf)), logOfNormal(e, x, Value()), x);
  Value isTiny = e.less(x, e.number(std::numeric_limits<float>::min()));
  result = e.select(isTiny, e.number(-inf), result);
  return e.select(e.less(x, e.number(0)), e.number(std::numeric_limits<float>::quiet_NaN()),
                  result);
}

Value log(Emitter &e, Value x) {
  if (e.isFast)
    return fastLog(e, x);
  Value isDenormal = e.less(x, e.number(std::numeric_limits<float>::min()));
  Value normal = e.select(isDenormal, e.mul(x, e.number(0x1p23f)), x);
  Value offset = e.select(isDenormal, e.number(-23), e.number(0));
  return withLimits(e, x, logOfNormal(e, normal, offset));
}

/// ln(1 + x), corrected for the rounding error of 1 + x.
Value log1p(Emitter &e, Value x) {
  Value sum = e.add(x, e.number(1));
  Value lost = e.sub(x, e.sub(sum, e.number(1)));
  Parts parts = partsOf(e, sum);
  // From 2^25 on, nothing is lost.
  Value fraction = e.select(e.less(x, e.number(0x1p25f)),
                            e.add(parts.fraction, e.mul(lost, parts.inverse)), parts.fraction);
  return e.withSign(withLimits(e, sum, logOfParts(e, fraction, parts.exponent)), x);
}

/// Two ranges: x times a polynomial in x * x, and 1 - exp of a polynomial in |x| (fitted
/// coefficients, error at most 1 unit in the last place).
Value erf(Emitter &e, Value x) {
  Value size = e.abs(x), square = e.mul(x, x);
  Value near = e.polynomial(square, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f,
                                     1.12819925e-1f, -3.76125336e-1f, 1.28379166e-1f});
  near = e.fma(near, x, x);
  Value t = e.atMost(size, 4);
  Value p = e.polynomial(t, {-1.72853470e-5f, 3.83197126e-4f, -3.88396438e-3f, 2.42546219e-2f,
                             -1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f});
  Value exponent = e.fma(p, t, e.negate(t));
  Value far = e.sub(e.number(1), expOfSmall(e, exponent));
  return e.select(e.less(size, e.number(0.927734375f)), near, e.withSign(far, x));
}

/// Whether the operation may be approximated.
bool mayBeApproximate(Operation *op) {
  auto marked = dyn_cast<arith::ArithFastMathInterface>(op);
  // Conversions may have flags, but usually have none.
  arith::FastMathFlagsAttr flags = marked ? marked.getFastMathFlagsAttr() : nullptr;
  return flags && bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::afn);
}

} // namespace

Value expandFloatMath(OpBuilder &b, Operation *op, ValueRange operands) {
  if (op->getNumResults() == 1 && op->getResult(0).getType().isF64())
    return expandDoubleMath(b, op, operands);
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32())
    return {};
  bool isFast = mayBeApproximate(op);
  if (isa<math::PowFOp>(op))
    return expandPower(b, op->getLoc(), operands[0], operands[1], isFast);
  using Formula = Value (*)(Emitter &, Value);
  auto formula = llvm::TypeSwitch<Operation *, Formula>(op)
                     .Case([](math::ExpOp) { return exp; })
                     .Case([](math::ExpM1Op) { return expm1; })
                     .Case([](math::TanhOp) { return tanh; })
                     .Case([](math::LogOp) { return log; })
                     .Case([](math::Log1pOp) { return log1p; })
                     .Case([](math::ErfOp) { return erf; })
                     .Default([](Operation *) { return nullptr; });
  if (!formula)
    return {};
  Emitter e(b, op->getLoc(), isFast);
  return formula(e, operands[0]);
}

} // namespace treadle::codegen
