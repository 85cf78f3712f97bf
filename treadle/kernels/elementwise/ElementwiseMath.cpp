// Exponentials, logarithms, trigonometric and hyperbolic functions and the like. Arrays of float
// and double use Eigen's vectorized versions if there are any.
#include "treadle/kernels/elementwise/CanonicalOperand.h"
#include "treadle/kernels/elementwise/DoubleFormulas.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/VectorMath.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

namespace treadle {
namespace {

template <typename T> using ArrayMap = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <typename T> using ConstArrayMap = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

// One element by the standard library, 16-bit floats as float.
#define TREADLE_MATH(Name, function)                                                               \
  struct Name {                                                                                    \
    static constexpr float cost = 10;                                                              \
    template <typename T> static T apply(T x) { return T(function(Computed<T>(x))); }              \
  };

// Like the macro above, but Eigen computes arrays.
#define TREADLE_VECTOR_MATH(Name, function, method)                                                \
  struct Name {                                                                                    \
    static constexpr float cost = 2;                                                               \
    template <typename T> static T apply(T x) { return T(function(Computed<T>(x))); }              \
    template <typename T>                                                                          \
      requires std::is_floating_point_v<T>                                                         \
    static void applyAll(const T *in, T *out, int64_t n) {                                         \
      ArrayMap<T>(out, n) = ConstArrayMap<T>(in, n).method();                                      \
    }                                                                                              \
  };

template <typename T> T logOf(T x) { return std::log(canonical(x)); }

template <typename T> T logisticOf(T x) { return T(1) / (T(1) + std::exp(-x)); }

template <typename T> std::complex<T> expm1Of(std::complex<T> x) {
  // exp(x) - 1 without cancellation near zero.
  T im = x.imag(), halfSine = std::sin(im / 2), growth = std::expm1(x.real());
  // The exponential of a real number stays real.
  return {growth * std::cos(im) - 2 * halfSine * halfSine,
          im == 0 ? im : (growth + 1) * std::sin(im)};
}
template <typename T> T expm1Of(T x) { return std::expm1(x); }

/// 1 + re + i im|^2 - 1 = 2 re + re^2 + im^2. The terms may cancel, so the rounding errors of the
/// products and sums are included.
template <typename T> T squaredNormMinusOne(T re, T im) {
  T a = 2 * re, b = re * re, c = im * im;
  T sum = a + c, ofC = sum - a;
  T lost = (a - (sum - ofC)) + (c - ofC) + std::fma(re, re, -b) + std::fma(im, im, -c);
  T whole = sum + b, ofB = whole - sum;
  lost += (sum - (whole - ofB)) + (b - ofB);
  return whole + lost;
}

template <typename T> std::complex<T> log1pOf(std::complex<T> x) {
  T re = x.real(), im = x.imag();
  T large = std::max(std::fabs(re), std::fabs(im)), small = std::min(std::fabs(re), std::fabs(im));
  T angle = std::atan2(im, 1 + re);
  // Squares of these overflow.
  if (large > std::sqrt(std::numeric_limits<T>::max()) / 2) {
    T ratio = large < std::numeric_limits<T>::infinity() ? small / large : T(0);
    return {std::log(large) + std::log1p(ratio * ratio) / 2, angle};
  }
  return {std::log1p(squaredNormMinusOne(re, im)) / 2, angle};
}
template <typename T> T log1pOf(T x) { return std::log1p(x); }

TREADLE_VECTOR_MATH(EigenExp, std::exp, exp)
TREADLE_VECTOR_MATH(EigenLog, logOf, log)
TREADLE_VECTOR_MATH(FloatSin, std::sin, sin)
TREADLE_VECTOR_MATH(FloatCos, std::cos, cos)
TREADLE_VECTOR_MATH(DoubleSigmoid, logisticOf, logistic)
TREADLE_MATH(TanOp, std::tan)
TREADLE_MATH(AsinOp, std::asin)
TREADLE_MATH(AcosOp, std::acos)
TREADLE_MATH(SinhOp, std::sinh)
TREADLE_MATH(CoshOp, std::cosh)
TREADLE_MATH(AsinhOp, std::asinh)
TREADLE_MATH(AcoshOp, std::acosh)
TREADLE_MATH(AtanhOp, std::atanh)
#undef TREADLE_MATH
#undef TREADLE_VECTOR_MATH

// One element by the standard library, arrays of float by a vectorized loop.
#define TREADLE_FLOAT_LOOP_MATH(Name, function, floatFunction)                                     \
  struct Name {                                                                                    \
    static constexpr float cost = 4;                                                               \
    template <typename T> static T apply(T x) { return T(function(Computed<T>(x))); }              \
    /* `out` may be `in`, but never lies across it. */                                             \
    template <std::same_as<float> T> static void applyAll(const T *in, T *out, int64_t n) {        \
      TREADLE_VECTORISE for (int64_t i = 0; i < n; ++i) out[i] = floatFunction(in[i]);             \
    }                                                                                              \
  };
TREADLE_FLOAT_LOOP_MATH(FloatExpm1, expm1Of, vectorExpm1)
TREADLE_FLOAT_LOOP_MATH(FloatLog1p, log1pOf, vectorLog1p)
TREADLE_FLOAT_LOOP_MATH(AtanOp, std::atan, vectorAtan)
TREADLE_FLOAT_LOOP_MATH(FloatErf, std::erf, vectorErf)
TREADLE_FLOAT_LOOP_MATH(FloatErfc, std::erfc, vectorErfc)

// Arrays of double by the formula that the compiler emits too.
#define TREADLE_DOUBLE_LOOP_MATH(Name, Base, formula)                                              \
  struct Name : Base {                                                                             \
    using Base::applyAll;                                                                          \
    static void applyAll(const double *in, double *out, int64_t n) {                               \
      formulas::DoubleArithmetic a;                                                                \
      TREADLE_VECTORISE for (int64_t i = 0; i < n; ++i) out[i] = formulas::formula(a, in[i]);      \
    }                                                                                              \
  };
TREADLE_DOUBLE_LOOP_MATH(Expm1Op, FloatExpm1, expm1)
TREADLE_DOUBLE_LOOP_MATH(Log1pOp, FloatLog1p, log1p)
TREADLE_DOUBLE_LOOP_MATH(ErfOp, FloatErf, erf)
TREADLE_DOUBLE_LOOP_MATH(ErfcOp, FloatErfc, erfc)

/// Applies `Op` to an array in blocks. Elements that `Op` doesn't support (`isSpecial`) are
/// computed by `one`; blocks without such elements skip that step.
template <typename Op, typename T, typename IsSpecial, typename One>
void applyInPieces(const T *in, T *out, int64_t n, IsSpecial isSpecial, One one) {
  constexpr int64_t pieceSize = 1024;
  for (int64_t at = 0; at < n; at += pieceSize) {
    int64_t size = std::min(pieceSize, n - at);
    int isAny = 0;
    for (int64_t i = 0; i < size; ++i)
      isAny |= isSpecial(in[at + i]);
    if (!isAny) {
      Op::applyAll(in + at, out + at, size);
      continue;
    }
    T piece[pieceSize]; // `out` may be `in`
    std::copy_n(in + at, size, piece);
    Op::applyAll(piece, out + at, size);
    for (int64_t i = 0; i < size; ++i)
      if (isSpecial(piece[i]))
        out[at + i] = one(piece[i]);
  }
}

TREADLE_DOUBLE_LOOP_MATH(ExpOp, EigenExp, exp)
TREADLE_DOUBLE_LOOP_MATH(ModerateSin, FloatSin, sin)
TREADLE_DOUBLE_LOOP_MATH(ModerateCos, FloatCos, cos)

// The formulas are for moderate numbers.
#define TREADLE_PERIODIC_MATH(Name, Base, function)                                                \
  struct Name : Base {                                                                             \
    using Base::applyAll;                                                                          \
    static void applyAll(const double *in, double *out, int64_t n) {                               \
      applyInPieces<Base>(                                                                         \
          in, out, n, [](double x) { return !(std::fabs(x) <= formulas::mostReduced); },           \
          [](double x) { return function(x); });                                                   \
    }                                                                                              \
  };
TREADLE_PERIODIC_MATH(SinOp, ModerateSin, std::sin)
TREADLE_PERIODIC_MATH(CosOp, ModerateCos, std::cos)
#undef TREADLE_PERIODIC_MATH

// Eigen's logarithm treats denormals like the smallest normal number, and rejects negative ones.
struct FloatLog : EigenLog {
  static void applyAll(const float *in, float *out, int64_t n) {
    applyInPieces<EigenLog>(
        in, out, n, [](float x) { return std::fabs(x) < std::numeric_limits<float>::min(); },
        [](float x) { return logOf(x); });
  }
};
TREADLE_DOUBLE_LOOP_MATH(LogOp, FloatLog, log)

// Eigen's float logistic loses whole digits of small results, and its tanh two bits.
TREADLE_FLOAT_LOOP_MATH(FloatTanh, std::tanh, vectorTanh)
TREADLE_DOUBLE_LOOP_MATH(TanhOp, FloatTanh, tanh)
struct SigmoidOp : DoubleSigmoid {
  using DoubleSigmoid::applyAll;
  static void applyAll(const float *in, float *out, int64_t n) {
    TREADLE_VECTORISE for (int64_t i = 0; i < n; ++i) out[i] = vectorLogistic(in[i]);
  }
};

#undef TREADLE_FLOAT_LOOP_MATH
#undef TREADLE_DOUBLE_LOOP_MATH

using FloatAndComplexTypes = Join<FloatTypes, ComplexTypes>;

const KernelEntry elementwiseMathTable[] = {
    {"Exp", bindUnary<ExpOp, FloatAndComplexTypes>},
    {"Expm1", bindUnary<Expm1Op, FloatAndComplexTypes>},
    {"Log", bindUnary<LogOp, FloatAndComplexTypes>},
    {"Log1p", bindUnary<Log1pOp, FloatAndComplexTypes>},
    {"Sin", bindUnary<SinOp, FloatAndComplexTypes>},
    {"Cos", bindUnary<CosOp, FloatAndComplexTypes>},
    {"Tan", bindUnary<TanOp, FloatAndComplexTypes>},
    {"Asin", bindUnary<AsinOp, FloatAndComplexTypes>},
    {"Acos", bindUnary<AcosOp, FloatAndComplexTypes>},
    {"Atan", bindUnary<AtanOp, FloatAndComplexTypes>},
    {"Sinh", bindUnary<SinhOp, FloatAndComplexTypes>},
    {"Cosh", bindUnary<CoshOp, FloatAndComplexTypes>},
    {"Tanh", bindUnary<TanhOp, FloatAndComplexTypes>},
    {"Asinh", bindUnary<AsinhOp, FloatAndComplexTypes>},
    {"Acosh", bindUnary<AcoshOp, FloatAndComplexTypes>},
    {"Atanh", bindUnary<AtanhOp, FloatAndComplexTypes>},
    {"Sigmoid", bindUnary<SigmoidOp, FloatAndComplexTypes>},
    {"Erf", bindUnary<ErfOp, FloatTypes>},
    {"Erfc", bindUnary<ErfcOp, FloatTypes>},
};

} // namespace

std::span<const KernelEntry> elementwiseMathKernels() { return elementwiseMathTable; }

} // namespace treadle
