#include "treadle/codegen/ComplexForms.h"
#include "treadle/codegen/RealEmitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace treadle::codegen {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

RealEmitter realOf(OpBuilder &b, Location loc, Value part) { return {b, loc, part.getType()}; }

/// A complex number, with operations on its parts.
struct ComplexNumber : Parts {
  ComplexNumber(OpBuilder &b, Location loc, Value value)
      : Parts(partsOf(b, loc, value)), real(realOf(b, loc, first)) {}
  RealEmitter real;
};

// --- arithmetic ----------------------------------------------------------------------------------

Value sum(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]), y(b, loc, in[1]);
  return complexOf(b, loc, {x.real.add(x.first, y.first), x.real.add(x.second, y.second)});
}

Value difference(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]), y(b, loc, in[1]);
  return complexOf(b, loc, {x.real.sub(x.first, y.first), x.real.sub(x.second, y.second)});
}

Value product(OpBuilder &b, Location loc, ValueRange in, Type) {
  return complexOf(b, loc, complexProduct(b, loc, partsOf(b, loc, in[0]), partsOf(b, loc, in[1])));
}

/// Returns the inverse of the power of two of a number's magnitude.
Value inverseScale(const RealEmitter &real, Value size) {
  OpBuilder &b = real.b;
  constexpr int64_t fraction = 52, bias = 1023;
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(b, real.loc, b.getI64IntegerAttr(value)).getResult();
  };
  Value bits = arith::BitcastOp::create(b, real.loc, b.getI64Type(), size);
  Value exponent = arith::ShRUIOp::create(b, real.loc, bits, number(fraction));
  exponent = arith::MinUIOp::create(b, real.loc, exponent, number(2 * bias - 1));
  Value inverse = arith::SubIOp::create(b, real.loc, number(2 * bias), exponent);
  inverse = arith::MinUIOp::create(b, real.loc, inverse, number(2 * bias));
  Value shifted = arith::ShLIOp::create(b, real.loc, inverse, number(fraction));
  return arith::BitcastOp::create(b, real.loc, real.type, shifted);
}

/// Corrects a quotient that is NaN as in C's Annex G.
Parts correctedQuotient(const RealEmitter &real, Parts x, Parts y, Parts quotient) {
  auto [a, b] = x;
  auto [c, d] = y;
  auto [re, im] = quotient;
  Value isLost = real.both(real.isNan(re), real.isNan(im));
  auto unit = [&](Value part) { // 1 for an infinity, otherwise 0
    return real.withSign(real.select(real.isInfinite(part), real.number(1), real.number(0)), part);
  };
  auto above = [&](Value p, Value q, Value r, Value s) {
    return Parts{real.add(real.mul(p, r), real.mul(q, s)),
                 real.sub(real.mul(q, r), real.mul(p, s))};
  };
  auto choose = [&](Value condition, Parts value) {
    re = real.select(real.both(isLost, condition), value.first, re);
    im = real.select(real.both(isLost, condition), value.second, im);
  };
  Value infinity = real.number(inf), none = real.number(0);
  Value isAboveInfinite = real.either(real.isInfinite(a), real.isInfinite(b));
  Value isBelowInfinite = real.either(real.isInfinite(c), real.isInfinite(d));
  Value areFinite = real.both(real.isFinite(a), real.isFinite(b));
  Parts small = above(a, b, unit(c), unit(d));
  choose(real.both(isBelowInfinite, areFinite),
         {real.mul(none, small.first), real.mul(none, small.second)});
  Parts large = above(unit(a), unit(b), c, d);
  choose(real.both(isAboveInfinite, real.both(real.isFinite(c), real.isFinite(d))),
         {real.mul(infinity, large.first), real.mul(infinity, large.second)});
  Value signedInfinity = real.withSign(infinity, c);
  choose(real.both(real.isZero(c), real.isZero(d)),
         {real.mul(signedInfinity, a), real.mul(signedInfinity, b)});
  return {re, im};
}

/// Divides. Unless there is headroom, both are scaled by the divisor's magnitude first, so that no
/// square overflows. Of many numbers, each quotient is corrected, without a branch.
Parts quotient(const RealEmitter &real, Parts x, Parts y, bool haveHeadroom, bool isOfMany) {
  auto [a, b] = x;
  auto [c, d] = y;
  Value scale =
      haveHeadroom ? real.number(1) : inverseScale(real, real.larger(real.abs(c), real.abs(d)));
  Value e = real.mul(c, scale), f = real.mul(d, scale);
  Value square = real.add(real.mul(e, e), real.mul(f, f));
  Value re = real.mul(real.div(real.add(real.mul(a, e), real.mul(b, f)), square), scale);
  Value im = real.mul(real.div(real.sub(real.mul(b, e), real.mul(a, f)), square), scale);
  if (isOfMany)
    return correctedQuotient(real, x, y, {re, im});
  Value isLost = real.both(real.isNan(re), real.isNan(im));
  auto branch = scf::IfOp::create(
      real.b, real.loc, isLost,
      [&](OpBuilder &inner, Location at) {
        Parts made = correctedQuotient({inner, at, real.type}, x, y, {re, im});
        scf::YieldOp::create(inner, at, ValueRange{made.first, made.second});
      },
      [&](OpBuilder &inner, Location at) { scf::YieldOp::create(inner, at, ValueRange{re, im}); });
  return {branch.getResult(0), branch.getResult(1)};
}

/// Parts in f32 are computed in f64, where squares and their sums don't overflow.
template <bool isOfMany> Value divide(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]), y(b, loc, in[1]);
  if (x.real.type.isF64())
    return complexOf(b, loc, quotient(x.real, x, y, /*haveHeadroom=*/false, isOfMany));
  RealEmitter wide{b, loc, b.getF64Type()};
  auto widen = [&](const Parts &parts) {
    return Parts{castTo(b, loc, parts.first, wide.type), castTo(b, loc, parts.second, wide.type)};
  };
  auto [re, im] = quotient(wide, widen(x), widen(y), /*haveHeadroom=*/true, isOfMany);
  return complexOf(b, loc, {castTo(b, loc, re, x.real.type), castTo(b, loc, im, x.real.type)});
}

Value negate(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]);
  return complexOf(b, loc, {x.real.negate(x.first), x.real.negate(x.second)});
}

Value conjugate(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]);
  return complexOf(b, loc, {x.first, x.real.negate(x.second)});
}

Value square(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return product(b, loc, {in[0], in[0]}, type);
}

/// Returns the squared distance, a real number.
Value squaredDifference(OpBuilder &b, Location loc, ValueRange in, Type type) {
  ComplexNumber d(b, loc, difference(b, loc, in, type));
  Value size = d.real.add(d.real.mul(d.first, d.first), d.real.mul(d.second, d.second));
  return complexOf(b, loc, {size, d.real.number(0)});
}

Value isSame(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]), y(b, loc, in[1]);
  return x.real.both(x.real.isEqual(x.first, y.first), x.real.isEqual(x.second, y.second));
}

Value isOther(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value truth = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  return arith::XOrIOp::create(b, loc, isSame(b, loc, in, type), truth);
}

Value isZero(OpBuilder &b, Location loc, const ComplexNumber &x) {
  return x.real.both(x.real.isZero(x.first), x.real.isZero(x.second));
}

/// Returns 0 if the second operand is 0.
template <auto operation> Value orZero(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return selected(b, loc, isZero(b, loc, {b, loc, in[1]}), zeroOf(b, loc, type),
                  operation(b, loc, in, type));
}

Value one(OpBuilder &b, Location loc, Type type) {
  RealEmitter real{b, loc, cast<ComplexType>(type).getElementType()};
  return complexOf(b, loc, {real.number(1), real.number(0)});
}

Value reciprocal(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return divide<true>(b, loc, {one(b, loc, type), in[0]}, type);
}

// --- parts ---------------------------------------------------------------------------------------

Value realPart(OpBuilder &b, Location loc, ValueRange in, Type) {
  return partsOf(b, loc, in[0]).first;
}
Value imaginaryPart(OpBuilder &b, Location loc, ValueRange in, Type) {
  return partsOf(b, loc, in[0]).second;
}
Value fromParts(OpBuilder &b, Location loc, ValueRange in, Type) {
  return complexOf(b, loc, {in[0], in[1]});
}

/// Returns the magnitude. Parts in f32 are computed in f64, where squares don't overflow.
Value magnitudeOf(const ComplexNumber &x) {
  const RealEmitter &real = x.real;
  Value re = real.abs(x.first), im = real.abs(x.second), size;
  if (real.type.isF32()) {
    RealEmitter wide{real.b, real.loc, real.b.getF64Type()};
    Value p = arith::ExtFOp::create(real.b, real.loc, wide.type, re);
    Value q = arith::ExtFOp::create(real.b, real.loc, wide.type, im);
    size = arith::TruncFOp::create(real.b, real.loc, real.type,
                                   wide.sqrt(wide.add(wide.mul(p, p), wide.mul(q, q))));
  } else {
    Value large = real.larger(re, im), small = real.smaller(re, im), ratio = real.div(small, large);
    size = real.mul(large, real.sqrt(real.add(real.mul(ratio, ratio), real.number(1))));
    size = real.select(real.isZero(large), large, size);
    Value isNan = real.either(real.isNan(re), real.isNan(im));
    size = real.select(isNan, real.add(re, im), size);
  }
  Value isInfinite = real.either(real.isInfinite(re), real.isInfinite(im));
  return real.select(isInfinite, real.number(inf), size);
}

Value absolute(OpBuilder &b, Location loc, ValueRange in, Type) {
  return magnitudeOf({b, loc, in[0]});
}

Value angleOf(OpBuilder &b, Location loc, Parts x) {
  return codegen::angleOf(b, loc, x.second, x.first);
}

Value angle(OpBuilder &b, Location loc, ValueRange in, Type) {
  return angleOf(b, loc, partsOf(b, loc, in[0]));
}

Value sign(OpBuilder &b, Location loc, ValueRange in, Type type) {
  ComplexNumber x(b, loc, in[0]);
  Value size = magnitudeOf(x);
  Value unit = complexOf(b, loc, {x.real.div(x.first, size), x.real.div(x.second, size)});
  return selected(b, loc, isZero(b, loc, x), zeroOf(b, loc, type), unit);
}

// --- functions -----------------------------------------------------------------------------------

/// The exponential of a large real part is split into two factors, since it may overflow where the
/// product doesn't.
Parts exponential(const RealEmitter &real, Parts x) {
  double most = real.type.isF64() ? 700 : 80, offset = real.type.isF64() ? 64 : 32;
  Value isLarge = real.isLess(real.number(most), x.first);
  Value less = real.sub(x.first, real.number(offset));
  Value size = real.of<math::ExpOp>(real.select(isLarge, less, x.first));
  Value rest = real.select(isLarge, real.number(std::exp(offset)), real.number(1));
  auto part = [&](Value direction) { return real.mul(real.mul(size, direction), rest); };
  Value re = part(real.of<math::CosOp>(x.second)), im = part(real.of<math::SinOp>(x.second));
  // A real number stays real; a zero magnitude has no direction.
  Value isReal = real.isZero(x.second), isGone = real.isEqual(x.first, real.number(-inf));
  re = real.select(isReal, real.mul(size, rest), real.select(isGone, real.number(0), re));
  im = real.select(isReal, x.second, real.select(isGone, real.number(0), im));
  return {re, im};
}

/// Uses the larger part or, if it is close to 1, the difference of the squared magnitude from 1.
Parts logarithm(OpBuilder &b, Location loc, Parts x) {
  RealEmitter real = realOf(b, loc, x.first);
  Value re = real.abs(x.first), im = real.abs(x.second);
  Value large = real.larger(re, im), small = real.smaller(re, im);
  Value isNear =
      real.both(real.isLess(real.number(0.5), large), real.isLess(large, real.number(3)));
  Value ratio = real.div(small, large);
  Value off = real.mul(real.sub(large, real.number(1)), real.add(large, real.number(1)));
  Value rest = real.select(isNear, real.add(off, real.mul(small, small)), real.mul(ratio, ratio));
  Value half = real.mul(real.number(0.5), real.of<math::Log1pOp>(rest));
  Value log = real.of<math::LogOp>(large);
  Value size = real.select(isNear, half, real.add(log, half));
  size = real.select(real.isZero(large), log, size);
  size = real.select(real.either(real.isInfinite(re), real.isInfinite(im)), real.number(inf), size);
  return {size, angleOf(b, loc, x)};
}

/// Uses half the sum of magnitude and real part, which doesn't cancel.
Parts squareRoot(OpBuilder &b, Location loc, const ComplexNumber &x) {
  const RealEmitter &real = x.real;
  // A quarter of the largest numbers: their magnitude doesn't overflow.
  Value large = real.larger(real.abs(x.first), real.abs(x.second));
  Value isHuge = real.isLess(real.number(real.type.isF64() ? 0x1p1000 : 0x1p120), large);
  Value scale = real.select(isHuge, real.number(0.0625), real.number(1));
  ComplexNumber scaled(b, loc,
                       complexOf(b, loc, {real.mul(x.first, scale), real.mul(x.second, scale)}));
  Value re = real.abs(scaled.first);
  Value root = real.sqrt(real.mul(real.add(magnitudeOf(scaled), re), real.number(0.5)));
  Value other = real.div(scaled.second, real.add(root, root));
  Value back = real.select(isHuge, real.number(4), real.number(1));
  root = real.mul(root, back);
  other = real.mul(other, back);
  Value isLeft = real.isLess(x.first, real.number(0));
  Value p = real.select(isLeft, real.abs(other), root);
  Value q = real.select(isLeft, real.withSign(root, x.second), other);
  Value isNone = isZero(b, loc, x), isInfinite = real.isInfinite(x.second);
  p = real.select(isNone, real.number(0), real.select(isInfinite, real.number(inf), p));
  q = real.select(real.either(isNone, isInfinite), x.second, q);
  return {p, q};
}

template <Parts (*function)(const RealEmitter &, Parts)>
Value ofParts(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]);
  return complexOf(b, loc, function(x.real, x));
}

Value log(OpBuilder &b, Location loc, ValueRange in, Type) {
  return complexOf(b, loc, logarithm(b, loc, partsOf(b, loc, in[0])));
}

Value sqrt(OpBuilder &b, Location loc, ValueRange in, Type) {
  return complexOf(b, loc, squareRoot(b, loc, {b, loc, in[0]}));
}

Value rsqrt(OpBuilder &b, Location loc, ValueRange in, Type type) {
  return reciprocal(b, loc, sqrt(b, loc, in, type), type);
}

/// exp(x) - 1 without cancellation near zero.
Parts expMinusOne(const RealEmitter &real, Parts x) {
  Value half = real.of<math::SinOp>(real.mul(x.second, real.number(0.5)));
  Value growth = real.of<math::ExpM1Op>(x.first);
  Value lost = real.mul(real.mul(half, half), real.number(2));
  Value re = real.sub(real.mul(growth, real.of<math::CosOp>(x.second)), lost);
  Value im = real.mul(real.add(growth, real.number(1)), real.of<math::SinOp>(x.second));
  return {re, real.select(real.isZero(x.second), x.second, im)}; // a real number stays real
}

/// |1 + x|^2 - 1. Its terms may cancel, so the rounding errors of products and sums are added.
Value squaredMagnitudeMinusOne(const RealEmitter &real, Parts x) {
  auto lostIn = [&](Value factor, Value square) {
    return math::FmaOp::create(real.b, real.loc, factor, factor, real.negate(square)).getResult();
  };
  Value a = real.mul(real.number(2), x.first), b = real.mul(x.first, x.first);
  Value c = real.mul(x.second, x.second);
  Value lost = real.add(lostIn(x.first, b), lostIn(x.second, c));
  auto sum = [&](Value x, Value y) {
    Value whole = real.add(x, y), ofY = real.sub(whole, x);
    lost = real.add(lost, real.add(real.sub(x, real.sub(whole, ofY)), real.sub(y, ofY)));
    return whole;
  };
  Value whole = sum(sum(a, c), b);
  return real.add(whole, lost);
}

Value log1p(OpBuilder &b, Location loc, ValueRange in, Type) {
  ComplexNumber x(b, loc, in[0]);
  const RealEmitter &real = x.real;
  Value re = real.abs(x.first), im = real.abs(x.second);
  Value large = real.larger(re, im), small = real.smaller(re, im);
  // The squares of larger numbers overflow.
  const llvm::fltSemantics &semantics = cast<FloatType>(real.type).getFloatSemantics();
  double most = std::sqrt(APFloat::getLargest(semantics).convertToDouble()) / 2;
  Value ratio = real.div(small, large);
  ratio = real.select(real.isFinite(large), ratio, real.number(0));
  Value isLarge = real.isLess(real.number(most), large);
  Value square = real.select(isLarge, real.mul(ratio, ratio), squaredMagnitudeMinusOne(real, x));
  Value half = real.mul(real.of<math::Log1pOp>(square), real.number(0.5));
  Value size = real.select(isLarge, real.add(real.of<math::LogOp>(large), half), half);
  return complexOf(b, loc, {size, angleOf(b, loc, {real.add(real.number(1), x.first), x.second})});
}

Value sigmoid(OpBuilder &b, Location loc, ValueRange in, Type type) {
  Value power = ofParts<exponential>(b, loc, negate(b, loc, in, type), type);
  return reciprocal(b, loc, sum(b, loc, {one(b, loc, type), power}, type), type);
}

Parts hyperbolicSine(const RealEmitter &real, Parts x) {
  return {real.mul(real.of<math::SinhOp>(x.first), real.of<math::CosOp>(x.second)),
          real.mul(real.of<math::CoshOp>(x.first), real.of<math::SinOp>(x.second))};
}
Parts hyperbolicCosine(const RealEmitter &real, Parts x) {
  return {real.mul(real.of<math::CoshOp>(x.first), real.of<math::CosOp>(x.second)),
          real.mul(real.of<math::SinhOp>(x.first), real.of<math::SinOp>(x.second))};
}
Parts sine(const RealEmitter &real, Parts x) {
  Parts turned = hyperbolicSine(real, {x.second, x.first});
  return {turned.second, turned.first};
}
Parts cosine(const RealEmitter &real, Parts x) {
  return hyperbolicCosine(real, {real.negate(x.second), x.first});
}

/// Kahan's formula, "Branch cuts for complex elementary functions" (1987). Beyond `most`, the
/// result is 1.
Parts hyperbolicTangent(const RealEmitter &real, Parts x) {
  double most = real.type.isF64() ? 22 : 11;
  Value size = real.abs(x.first);
  Value bounded = real.withSign(real.smaller(size, real.number(most)), x.first);
  Value t = real.of<math::TanOp>(x.second), s = real.of<math::SinhOp>(bounded);
  Value unit = real.number(1), growth = real.add(unit, real.mul(t, t));
  Value rho = real.sqrt(real.add(unit, real.mul(s, s)));
  Value below = real.add(unit, real.mul(growth, real.mul(s, s)));
  Value re = real.div(real.mul(growth, real.mul(rho, s)), below), im = real.div(t, below);
  Value isFar = real.isLess(real.number(most), size);
  re = real.select(isFar, real.withSign(unit, x.first), re);
  im = real.select(isFar, real.withSign(real.number(0), x.second), im);
  return {re, im};
}

/// exp(y log x). Powers of zero are zero, and the power with exponent zero is one.
Value power(OpBuilder &b, Location loc, ValueRange in, Type type) {
  ComplexNumber x(b, loc, in[0]), y(b, loc, in[1]);
  Parts exponent = complexProduct(b, loc, y, logarithm(b, loc, x));
  Value made = complexOf(b, loc, exponential(x.real, exponent));
  made = selected(b, loc, isZero(b, loc, x), zeroOf(b, loc, type), made);
  return selected(b, loc, isZero(b, loc, y), one(b, loc, type), made);
}

// --- the table -----------------------------------------------------------------------------------

bool isComplex(Type type) { return isa<ComplexType>(type); }
bool numbers(ArrayRef<Type> types) { return llvm::all_of(types, isComplex); }
bool parts(ArrayRef<Type> types) {
  return llvm::all_of(types, [](Type type) { return type.isF32() || type.isF64(); });
}

const llvm::StringMap<ElementwiseOp> &table() {
  static const llvm::StringMap<ElementwiseOp> forms = {
      {"add", {numbers, sum}},
      {"bias_add", {numbers, sum}},
      {"sub", {numbers, difference}},
      {"mul", {numbers, product}},
      {"divide", {numbers, divide<false>, nullptr, false, divide<true>}},
      {"div_no_nan", {numbers, orZero<divide<true>>}},
      {"mul_no_nan", {numbers, orZero<product>}},
      {"squared_difference", {numbers, squaredDifference}},
      {"neg", {numbers, negate}},
      {"conj", {numbers, conjugate}},
      {"square", {numbers, square}},
      {"reciprocal", {numbers, reciprocal}},
      {"sign", {numbers, sign}},
      {"equal", {numbers, isSame}},
      {"not_equal", {numbers, isOther}},
      {"real", {numbers, realPart}},
      {"imag", {numbers, imaginaryPart}},
      {"complex", {parts, fromParts}},
      {"complex_abs", {numbers, absolute}},
      {"angle", {numbers, angle}},
      {"exp", {numbers, ofParts<exponential>}},
      {"expm1", {numbers, ofParts<expMinusOne>}},
      {"log", {numbers, log}},
      {"log1p", {numbers, log1p}},
      {"sqrt", {numbers, sqrt}},
      {"rsqrt", {numbers, rsqrt}},
      {"sigmoid", {numbers, sigmoid}},
      {"sin", {numbers, ofParts<sine>}},
      {"cos", {numbers, ofParts<cosine>}},
      {"sinh", {numbers, ofParts<hyperbolicSine>}},
      {"cosh", {numbers, ofParts<hyperbolicCosine>}},
      {"tanh", {numbers, ofParts<hyperbolicTangent>}},
      {"pow", {numbers, power}},
  };
  return forms;
}

} // namespace

Parts complexProduct(OpBuilder &b, Location loc, Parts x, Parts y) {
  RealEmitter real = realOf(b, loc, x.first);
  return {real.sub(real.mul(x.first, y.first), real.mul(x.second, y.second)),
          real.add(real.mul(x.first, y.second), real.mul(x.second, y.first))};
}

const ElementwiseOp *findComplexForm(StringRef form) {
  auto it = table().find(form);
  return it == table().end() ? nullptr : &it->second;
}

} // namespace treadle::codegen
