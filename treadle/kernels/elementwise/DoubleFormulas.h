// Functions of doubles as formulas without branches or calls. Kernels compute with them, and the
// compiler emits them: `A` computes or emits an operation (see DoubleArithmetic). Errors are at
// most 4 units in the last place (erfc: 5); infinities, zeros and NaN are as in C's functions. No
// formula relies on a fused multiply-add being exact.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace treadle::formulas {

/// Computes with doubles and their bits.
struct DoubleArithmetic {
  using Real = double;
  using Word = uint64_t;
  using Truth = bool;

  Real number(double value) const { return value; }
  Word integer(int64_t value) const { return static_cast<Word>(value); }
  Real add(Real x, Real y) const { return x + y; }
  Real sub(Real x, Real y) const { return x - y; }
  Real mul(Real x, Real y) const { return x * y; }
  Real div(Real x, Real y) const { return x / y; }
  /// x * y + z, rounded once if the processor has fused multiply-add.
  Real fma(Real x, Real y, Real z) const {
#pragma clang fp contract(on)
    return x * y + z;
  }
  Real abs(Real x) const { return std::fabs(x); }
  Real floor(Real x) const { return __builtin_elementwise_floor(x); }
  Real withSign(Real size, Real sign) const { return std::copysign(size, sign); }
  Truth less(Real x, Real y) const { return x < y; }
  Truth equal(Real x, Real y) const { return x == y; }
  Truth both(Truth x, Truth y) const { return x & y; }
  Truth either(Truth x, Truth y) const { return x | y; }
  Truth negation(Truth x) const { return !x; }
  Real select(Truth condition, Real x, Real otherwise) const { return condition ? x : otherwise; }
  Word bits(Real x) const { return std::bit_cast<Word>(x); }
  Real real(Word bits) const { return std::bit_cast<Real>(bits); }
  Word addBits(Word x, Word y) const { return x + y; }
  Word subBits(Word x, Word y) const { return x - y; }
  Word andBits(Word x, Word y) const { return x & y; }
  Word orBits(Word x, Word y) const { return x | y; }
  Word shiftLeft(Word x, int by) const { return x << by; }
  Word shiftRight(Word x, int by) const { return x >> by; }
};

template <typename A> using RealOf = typename A::Real;
template <typename A> using WordOf = typename A::Word;

/// Evaluates a polynomial; coefficients start with that of the highest power.
template <typename A, size_t n>
[[gnu::always_inline]] RealOf<A> polynomial(A &a, RealOf<A> x,
                                            const std::array<double, n> &coefficients) {
  RealOf<A> sum = a.number(coefficients[0]);
  for (size_t i = 1; i < n; ++i)
    sum = a.fma(sum, x, a.number(coefficients[i]));
  return sum;
}

/// NaN is preserved.
template <typename A> [[gnu::always_inline]] RealOf<A> atMost(A &a, RealOf<A> x, double bound) {
  return a.select(a.less(a.number(bound), x), a.number(bound), x);
}
template <typename A> [[gnu::always_inline]] RealOf<A> atLeast(A &a, RealOf<A> x, double bound) {
  return a.select(a.less(x, a.number(bound)), a.number(bound), x);
}

/// The leading bits of a number, whose products with those of another are exact.
template <typename A>
[[gnu::always_inline]] RealOf<A> leading(A &a, RealOf<A> x, int64_t dropped = 32) {
  return a.real(a.andBits(a.bits(x), a.integer(-(int64_t{1} << dropped))));
}

// --- exponentials --------------------------------------------------------------------------------

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// Adding and subtracting 1.5 * 2^52 rounds to an integer, which is then in the low bits.
inline constexpr double shifter = 6755399441055744.0;
inline constexpr int64_t shifterBits = 0x4338000000000000;
inline constexpr double ln2High = 6.93147180369123816490e-01, ln2Low = 1.90821492927058770002e-10;

/// e^x as 2^n (1 + rest), for |x| < 2^10. n is in the low bits of `shifted`. Fitted coefficients.
template <typename A> struct Exponential {
  RealOf<A> rest;
  WordOf<A> shifted;
};
template <typename A> [[gnu::always_inline]] Exponential<A> exponential(A &a, RealOf<A> x) {
  RealOf<A> shifted = a.fma(x, a.number(1.44269504088896340736), a.number(shifter));
  RealOf<A> whole = a.sub(shifted, a.number(shifter));
  RealOf<A> r = a.fma(whole, a.number(-ln2High), x);
  r = a.fma(whole, a.number(-ln2Low), r);
  RealOf<A> p = polynomial(a, r,
                           std::array{2.511010965953195534e-8, 2.7620091063014442425e-7,
                                      2.7557242146090761879e-6, 2.48015212900931719e-5,
                                      1.9841269886797617772e-4, 1.3888888917217539078e-3,
                                      8.3333333333221246628e-3, 4.16666666666241214e-2,
                                      1.66666666666666746e-1, 5.0000000000000010223e-1});
  return {a.fma(a.mul(r, r), p, r), a.bits(shifted)};
}

inline constexpr int64_t bitsOfOne = 0x3ff0000000000000;

/// 2^n for an n in the low bits; the bits of the shifter are shifted out.
template <typename A> [[gnu::always_inline]] RealOf<A> powerOfTwo(A &a, WordOf<A> n) {
  return a.real(a.addBits(a.shiftLeft(n, 52), a.integer(bitsOfOne)));
}

/// x * 2^n, in two steps, since a single power of two may overflow or underflow.
template <typename A> [[gnu::always_inline]] RealOf<A> scaled(A &a, RealOf<A> x, WordOf<A> n) {
  WordOf<A> half = a.shiftRight(n, 1);
  return a.mul(a.mul(x, powerOfTwo(a, half)), powerOfTwo(a, a.subBits(n, half)));
}

template <typename A> [[gnu::always_inline]] RealOf<A> exp(A &a, RealOf<A> x) {
  // Skips the computation if the result is 0: a product below the least normal number takes a
  // hundred times as long.
  auto isZero = a.less(x, a.number(-745.2));
  RealOf<A> zero = a.number(0);
  Exponential<A> e = exponential(a, a.select(isZero, zero, atMost(a, x, 710)));
  return a.select(isZero, zero, scaled(a, a.add(e.rest, a.number(1)), e.shifted));
}

/// e^x for -700 < x < 700.
template <typename A> [[gnu::always_inline]] RealOf<A> expOfSmall(A &a, RealOf<A> x) {
  Exponential<A> e = exponential(a, x);
  return a.mul(a.add(e.rest, a.number(1)), powerOfTwo(a, e.shifted));
}

template <typename A> [[gnu::always_inline]] RealOf<A> expm1(A &a, RealOf<A> x) {
  Exponential<A> e = exponential(a, atLeast(a, atMost(a, x, 710), -40));
  WordOf<A> n = a.subBits(e.shifted, a.integer(shifterBits));
  WordOf<A> first = a.shiftRight(e.shifted, 1), second = a.subBits(n, first);
  RealOf<A> power = powerOfTwo(a, first);
  RealOf<A> inverse = powerOfTwo(a, a.subBits(a.integer(0), second));
  RealOf<A> sum = a.fma(e.rest, power, a.sub(power, inverse));
  return a.withSign(a.mul(sum, powerOfTwo(a, second)), x);
}

/// m / (m + 2) with m = exp(2 x) - 1.
template <typename A> [[gnu::always_inline]] RealOf<A> tanh(A &a, RealOf<A> x) {
  constexpr double bound = 44; // for larger 2 x, the result is 1
  Exponential<A> e = exponential(a, atLeast(a, atMost(a, a.add(x, x), bound), -bound));
  RealOf<A> power = powerOfTwo(a, e.shifted);
  RealOf<A> m = a.fma(e.rest, power, a.sub(power, a.number(1)));
  return a.withSign(a.div(m, a.add(m, a.number(2))), x);
}

// --- logarithms ----------------------------------------------------------------------------------

/// x as 2^exponent * mantissa with a mantissa in [sqrt(1/2), sqrt(2)), for a normal x > 0.
template <typename A> struct Parts {
  RealOf<A> exponent, mantissa;
  RealOf<A> inverse; // 2^-exponent, for x < 2^1000
};
template <typename A> [[gnu::always_inline]] Parts<A> partsOf(A &a, RealOf<A> x) {
  constexpr int64_t bitsOfRootOfHalf = 0x3fe6a09e667f3bcd;
  WordOf<A> from = a.subBits(a.bits(x), a.integer(bitsOfRootOfHalf));
  // The exponent, biased by 2048, is converted through the low bits of 2^52.
  WordOf<A> biased = a.shiftRight(a.addBits(from, a.integer(int64_t{2048} << 52)), 52);
  RealOf<A> shifted = a.real(a.orBits(biased, a.integer(0x4330000000000000)));
  WordOf<A> fraction = a.andBits(from, a.integer((int64_t{1} << 52) - 1));
  return {a.sub(shifted, a.number(0x1p52 + 2048)),
          a.real(a.addBits(fraction, a.integer(bitsOfRootOfHalf))),
          a.real(a.shiftLeft(a.subBits(a.integer(1023 + 2048), biased), 52))};
}

/// ln(1 + f) + k * ln 2 for 1 + f in [sqrt(1/2), sqrt(2)) (the method and coefficients of FreeBSD's
/// log).
template <typename A> [[gnu::always_inline]] RealOf<A> logOfParts(A &a, RealOf<A> f, RealOf<A> k) {
  RealOf<A> s = a.div(f, a.add(f, a.number(2))), square = a.mul(s, s);
  RealOf<A> series = polynomial(a, square,
                                std::array{1.479819860511658591e-01, 1.531383769920937332e-01,
                                           1.818357216161805012e-01, 2.222219843214978396e-01,
                                           2.857142874366239149e-01, 3.999999999940941908e-01,
                                           6.666666666666735130e-01});
  RealOf<A> half = a.mul(a.mul(f, f), a.number(0.5));
  RealOf<A> tail = a.mul(s, a.fma(square, series, half));
  tail = a.fma(k, a.number(ln2Low), tail);
  return a.fma(k, a.number(ln2High), a.sub(f, a.sub(half, tail)));
}

/// Replaces the logarithm of numbers that aren't positive and finite.
template <typename A>
[[gnu::always_inline]] RealOf<A> withLimits(A &a, RealOf<A> x, RealOf<A> result) {
  result = a.select(a.less(x, a.number(infinity)), result, x);
  result = a.select(a.less(x, a.number(0)), a.number(notANumber), result);
  return a.select(a.equal(x, a.number(0)), a.number(-infinity), result);
}

template <typename A> [[gnu::always_inline]] RealOf<A> log(A &a, RealOf<A> x) {
  auto isDenormal = a.less(x, a.number(std::numeric_limits<double>::min()));
  RealOf<A> normal = a.select(isDenormal, a.mul(x, a.number(0x1p54)), x);
  RealOf<A> offset = a.select(isDenormal, a.number(-54), a.number(0));
  Parts<A> parts = partsOf(a, normal);
  RealOf<A> f = a.sub(parts.mantissa, a.number(1));
  return withLimits(a, x, logOfParts(a, f, a.add(parts.exponent, offset)));
}

/// ln(1 + x), corrected for the rounding error of 1 + x.
template <typename A> [[gnu::always_inline]] RealOf<A> log1p(A &a, RealOf<A> x) {
  RealOf<A> one = a.number(1), sum = a.add(x, one), lost = a.sub(x, a.sub(sum, one));
  Parts<A> parts = partsOf(a, sum);
  RealOf<A> f = a.sub(parts.mantissa, one);
  // From 2^54 on, nothing is lost.
  f = a.select(a.less(x, a.number(0x1p54)), a.add(f, a.mul(lost, parts.inverse)), f);
  return a.withSign(withLimits(a, sum, logOfParts(a, f, parts.exponent)), x);
}

// --- error functions -----------------------------------------------------------------------------

/// For |x| < 0.93: x times a polynomial in x * x. Otherwise 1 - exp of a polynomial in |x|, the
/// logarithm of erfc. Fitted coefficients.
template <typename A> [[gnu::always_inline]] RealOf<A> erfNearZero(A &a, RealOf<A> x) {
  RealOf<A> p = polynomial(
      a, a.mul(x, x),
      std::array{-8.2379038605994018394e-10, 1.3938065189351424814e-8, -1.6254876083250316019e-7,
                 1.6452998053205215541e-6, -1.4925152115595527685e-5, 1.2055314743114109709e-4,
                 -8.5483265828963735014e-4, 5.2239776186861377914e-3, -2.6866170644519401994e-2,
                 1.1283791670952261519e-1, -3.7612638903183699938e-1, 1.283791670955125723e-1});
  return a.fma(p, x, x);
}

template <typename A> [[gnu::always_inline]] RealOf<A> erf(A &a, RealOf<A> x) {
  RealOf<A> size = a.abs(x);
  RealOf<A> t = a.sub(atMost(a, size, 6.05), a.number(1));
  RealOf<A> exponent = polynomial(
      a, t,
      std::array{1.30179246087186971e-12, -3.50097880792750553e-11, 4.34137861402246286e-10,
                 -3.28276330699857308e-09, 1.66860598221376334e-08, -5.73407299049240626e-08,
                 1.09065752323806553e-07, 1.24394812289560333e-07, -2.03773439919474383e-06,
                 9.58940250810781144e-06, -2.71464300601439541e-05, 2.62719147016964828e-05,
                 2.37324450808350902e-04, -1.97790300670625235e-03, 1.00338254362546155e-02,
                 -4.15610980467798485e-02, -8.43107256358487378e-01, -2.63896751423479081e+00,
                 -1.84960550993324824e+00});
  RealOf<A> far = a.withSign(a.sub(a.number(1), expOfSmall(a, exponent)), x);
  return a.select(a.less(size, a.number(0.9296875)), erfNearZero(a, x), far);
}

/// exp(x * x) * erfc(x) * (1 + 2 x) for x >= 0, as a polynomial in (x - 4) / (x + 4). Fitted
/// coefficients, for x <= 28.
template <typename A> [[gnu::always_inline]] RealOf<A> scaledErfc(A &a, RealOf<A> x) {
  RealOf<A> four = a.number(4), t = a.div(a.sub(x, four), a.add(x, four));
  return polynomial(
      a, t,
      std::array{-1.7051917368138018263e-9, -1.3364012145031807274e-8, -7.8102648077623447094e-9,
                 1.1449500737076480032e-7,  6.2427577578595476784e-8,  -8.3415062522205628318e-7,
                 3.0192388482764224902e-7,  5.7172228093526053357e-6,  -1.1225262146677325411e-5,
                 -2.4402903580632772201e-5, 1.5062246175794332497e-4,  -1.9925557435559319163e-4,
                 -7.5777340172870894313e-4, 5.0319697664787590184e-3,  -1.6197734049059469221e-2,
                 3.7167515561459434178e-2,  -6.6330365812488575349e-2, 9.3732834996852947497e-2,
                 -1.010390660363057219e-1,  6.8097054254735625306e-2,  1.5379652102619871418e-2,
                 -1.3962111684056287714e-1, 1.2329951186255525094});
}

template <typename A> [[gnu::always_inline]] RealOf<A> erfc(A &a, RealOf<A> x) {
  RealOf<A> one = a.number(1), size = atMost(a, a.abs(x), 28);
  // The rounding error of x * x matters, since it becomes an exponent.
  RealOf<A> high = leading(a, size, 27), low = a.sub(size, high);
  RealOf<A> lost = a.mul(low, a.add(size, high));
  RealOf<A> correction =
      a.mul(lost, polynomial(a, lost, std::array{-0.16666666666666666, 0.5, -1.0}));
  RealOf<A> gauss = exp(a, a.sub(a.number(0), a.mul(high, high)));
  RealOf<A> quotient = a.div(scaledErfc(a, size), a.fma(size, a.number(2), one));
  quotient = a.fma(quotient, correction, quotient); // times exp(-lost)
  RealOf<A> tail = a.mul(gauss, quotient);
  RealOf<A> result = a.select(a.less(x, a.number(0)), a.sub(a.number(2), tail), tail);
  return a.select(a.less(size, a.number(0.4375)), a.sub(one, erfNearZero(a, x)), result);
}

// --- sine and cosine
// ------------------------------------------------------------------------------

/// For larger arguments, the reduction by multiples of pi / 2 isn't exact.
inline constexpr double mostReduced = 0x1p19;

/// sin x and cos x for |x| <= mostReduced (the method and coefficients of FreeBSD's functions).
template <typename A> struct SineAndCosine {
  RealOf<A> sine, cosine;
};
template <typename A> [[gnu::always_inline]] SineAndCosine<A> sineAndCosine(A &a, RealOf<A> x) {
  RealOf<A> shifted = a.add(a.mul(x, a.number(6.36619772367581382433e-01)), a.number(shifter));
  RealOf<A> n = a.sub(shifted, a.number(shifter)), one = a.number(1), half = a.number(0.5);
  // The nearest multiple of pi / 2, in three parts, of which two have 33 bits.
  RealOf<A> t = a.sub(x, a.mul(n, a.number(1.57079632673412561417e+00)));
  RealOf<A> second = a.mul(n, a.number(6.07710050630396597660e-11)), r = a.sub(t, second);
  RealOf<A> third =
      a.sub(a.mul(n, a.number(2.02226624879595063154e-21)), a.sub(a.sub(t, r), second));
  RealOf<A> y = a.sub(r, third), low = a.sub(a.sub(r, y), third);
  RealOf<A> square = a.mul(y, y), cube = a.mul(square, y);
  RealOf<A> s = polynomial(a, square,
                           std::array{1.58969099521155010221e-10, -2.50507602534068634195e-08,
                                      2.75573137070700676789e-06, -1.98412698298579493134e-04,
                                      8.33333333332248946124e-03});
  s = a.sub(a.mul(square, a.sub(a.mul(half, low), a.mul(cube, s))), low);
  s = a.sub(y, a.sub(s, a.mul(cube, a.number(-1.66666666666666324348e-01))));
  RealOf<A> c = polynomial(a, square,
                           std::array{-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                                      -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                                      -1.38888888888741095749e-03, 4.16666666666666019037e-02});
  RealOf<A> halfSquare = a.mul(half, square), w = a.sub(one, halfSquare);
  RealOf<A> rest = a.sub(a.mul(a.mul(square, square), c), a.mul(y, low));
  c = a.add(w, a.add(a.sub(a.sub(one, w), halfSquare), rest));
  // The quadrant is in the low bits; its second one, moved to the sign, is that of the sine.
  WordOf<A> quadrant = a.bits(shifted);
  auto isEven =
      a.equal(a.real(a.orBits(a.andBits(quadrant, a.integer(1)), a.integer(bitsOfOne))), one);
  RealOf<A> sine = a.select(isEven, s, c), cosine = a.select(isEven, c, s);
  WordOf<A> sign = a.integer(std::numeric_limits<int64_t>::min());
  auto flipped = [&](RealOf<A> value, WordOf<A> by) {
    return a.real(a.addBits(a.bits(value), a.andBits(a.shiftLeft(by, 62), sign)));
  };
  return {flipped(sine, quadrant), flipped(cosine, a.addBits(quadrant, a.integer(1)))};
}
template <typename A> [[gnu::always_inline]] RealOf<A> sin(A &a, RealOf<A> x) {
  return sineAndCosine(a, x).sine;
}
template <typename A> [[gnu::always_inline]] RealOf<A> cos(A &a, RealOf<A> x) {
  return sineAndCosine(a, x).cosine;
}

// --- powers --------------------------------------------------------------------------------------

/// A number as a sum of two.
template <typename A> struct Sum {
  RealOf<A> high, low;
};

/// log2 x for a normal x > 0, with 21 leading bits in `high` (the method and coefficients of
/// FreeBSD's pow).
template <typename A>
[[gnu::always_inline]] Sum<A> preciseLog2(A &a, RealOf<A> x, RealOf<A> offset) {
  Parts<A> parts = partsOf(a, x);
  RealOf<A> m = parts.mantissa, one = a.number(1), zero = a.number(0);
  // The mantissa is divided by 1 or 1.5, or multiplied by 2 and divided by 1.5.
  auto isAbove = a.less(a.number(1.224744871391589), m);
  auto isBelow = a.less(m, a.number(0.8660254037844386));
  m = a.select(isBelow, a.add(m, m), m);
  RealOf<A> n = a.add(parts.exponent, offset);
  n = a.select(isBelow, a.sub(n, one), n);
  auto isScaled = a.either(isAbove, isBelow);
  RealOf<A> base = a.select(isScaled, a.number(1.5), one);
  RealOf<A> logHigh = a.select(isScaled, a.number(5.84962487220764160156e-01), zero);
  RealOf<A> logLow = a.select(isScaled, a.number(1.35003920212974897128e-08), zero);
  // s = (m - base) / (m + base) in two parts.
  RealOf<A> u = a.sub(m, base), sum = a.add(m, base), v = a.div(one, sum);
  RealOf<A> s = a.mul(u, v), sHigh = leading(a, s), tHigh = leading(a, sum);
  RealOf<A> tLow = a.sub(m, a.sub(tHigh, base));
  RealOf<A> sLow = a.mul(v, a.sub(a.sub(u, a.mul(sHigh, tHigh)), a.mul(sHigh, tLow)));
  RealOf<A> square = a.mul(s, s);
  RealOf<A> r = polynomial(a, square,
                           std::array{2.06975017800338417784e-01, 2.30660745775561754067e-01,
                                      2.72728123808534006489e-01, 3.33333329818377432918e-01,
                                      4.28571428578550184252e-01, 5.99999999999994648725e-01});
  r = a.fma(a.mul(square, square), r, a.mul(sLow, a.add(sHigh, s)));
  RealOf<A> three = a.number(3), highSquare = a.mul(sHigh, sHigh);
  tHigh = leading(a, a.add(a.add(three, highSquare), r));
  tLow = a.sub(r, a.sub(a.sub(tHigh, three), highSquare));
  u = a.mul(sHigh, tHigh);
  v = a.add(a.mul(sLow, tHigh), a.mul(tLow, s));
  RealOf<A> pHigh = leading(a, a.add(u, v)), pLow = a.sub(v, a.sub(pHigh, u));
  // Multiplied by 2 / (3 ln 2).
  RealOf<A> zHigh = a.mul(pHigh, a.number(9.61796700954437255859e-01));
  RealOf<A> zLow = a.add(a.mul(pHigh, a.number(-7.02846165095275826516e-09)),
                         a.add(a.mul(pLow, a.number(9.61796693925975554329e-01)), logLow));
  RealOf<A> high = leading(a, a.add(a.add(a.add(zHigh, zLow), logHigh), n));
  return {high, a.sub(zLow, a.sub(a.sub(a.sub(high, n), logHigh), zHigh))};
}

/// 2^(high + low).
template <typename A>
[[gnu::always_inline]] RealOf<A> exp2OfSum(A &a, RealOf<A> high, RealOf<A> low) {
  RealOf<A> shifted = a.add(a.add(high, low), a.number(shifter));
  high = a.sub(high, a.sub(shifted, a.number(shifter)));
  RealOf<A> t = leading(a, a.add(high, low));
  RealOf<A> u = a.mul(t, a.number(6.93147182464599609375e-01));
  RealOf<A> v = a.add(a.mul(a.sub(low, a.sub(t, high)), a.number(6.93147180559945286227e-01)),
                      a.mul(t, a.number(-1.90465429995776804525e-09)));
  RealOf<A> z = a.add(u, v), w = a.sub(v, a.sub(z, u)), square = a.mul(z, z);
  RealOf<A> p = polynomial(a, square,
                           std::array{4.13813679705723846039e-08, -1.65339022054652515390e-06,
                                      6.61375632143793436117e-05, -2.77777777770155933842e-03,
                                      1.66666666666666019037e-01});
  RealOf<A> c = a.sub(z, a.mul(square, p));
  RealOf<A> r = a.sub(a.div(a.mul(z, c), a.sub(c, a.number(2))), a.fma(z, w, w));
  return scaled(a, a.sub(a.number(1), a.sub(r, z)), a.bits(shifted));
}

/// |x|^y.
template <typename A>
[[gnu::always_inline]] RealOf<A> powerOfMagnitude(A &a, RealOf<A> x, RealOf<A> y) {
  RealOf<A> size = a.abs(x), zero = a.number(0), one = a.number(1);
  auto isDenormal = a.less(size, a.number(std::numeric_limits<double>::min()));
  RealOf<A> normal = a.select(isDenormal, a.mul(size, a.number(0x1p54)), size);
  Sum<A> log = preciseLog2(a, normal, a.select(isDenormal, a.number(-54), zero));
  // Exponents beyond 2^64 act like infinite ones.
  RealOf<A> bounded = atLeast(a, atMost(a, y, 0x1p64), -0x1p64), yHigh = leading(a, bounded);
  RealOf<A> low = a.add(a.mul(a.sub(bounded, yHigh), log.high), a.mul(bounded, log.low));
  RealOf<A> high = a.mul(yHigh, log.high), sum = a.add(high, low);
  auto isLarge = a.less(a.number(1100), a.abs(sum));
  high = a.select(isLarge, a.withSign(a.number(1100), sum), high);
  RealOf<A> power = exp2OfSum(a, high, a.select(isLarge, zero, low));
  // The magnitudes 0 and infinity have no logarithm here.
  auto grows = a.less(zero, y);
  auto isZero = a.equal(size, zero), isInfinite = a.equal(size, a.number(infinity));
  RealOf<A> ofZero = a.select(grows, zero, a.number(infinity));
  RealOf<A> ofInfinity = a.select(grows, a.number(infinity), zero);
  power = a.select(isZero, ofZero, a.select(isInfinite, ofInfinity, power));
  power = a.select(a.equal(y, y), power, y);
  power = a.select(a.equal(size, one), one, power); // for any y, including NaN
  return a.select(a.equal(size, size), power, size);
}

template <typename A> [[gnu::always_inline]] RealOf<A> pow(A &a, RealOf<A> x, RealOf<A> y) {
  RealOf<A> zero = a.number(0), result = powerOfMagnitude(a, x, y), half = a.mul(y, a.number(0.5));
  // Negative bases allow integer exponents only; odd ones make the result negative.
  auto isWhole = a.equal(a.floor(y), y);
  auto isOdd = a.both(isWhole, a.negation(a.equal(a.floor(half), half)));
  result = a.select(isOdd, a.withSign(result, x), result);
  auto isNegative = a.both(a.less(x, zero), a.less(a.number(-infinity), x));
  auto isNone = a.both(isNegative, a.negation(isWhole));
  result = a.select(isNone, a.number(notANumber), result);
  // x^0 is 1, even if x is NaN.
  return a.select(a.equal(y, zero), a.number(1), result);
}

} // namespace treadle::formulas
