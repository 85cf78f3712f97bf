// Cheap unary functions: signs, rounding, squares and roots, tests, parts of complex numbers, bits.
#include "treadle/kernels/elementwise/CanonicalOperand.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <bit>
#include <cmath>

namespace treadle {
namespace {

struct NegOp {
  template <typename T> static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(Widened<T>(0) - x);
    else
      return -x;
  }
};

struct AbsOp {
  template <typename T> static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? NegOp::apply(static_cast<Wrapping<T>>(x)) : x;
    else
      return T(std::fabs(Computed<T>(x)));
  }
};

struct SignOp {
  template <typename T> static T apply(T x) {
    if constexpr (isComplexType<T>)
      return x == T(0) ? T(0) : x / std::abs(x);
    else if constexpr (isRealFloat<T>)
      return x != x ? x : T(float(x > T(0)) - float(x < T(0)));
    else
      return static_cast<T>((x > 0) - (x < 0));
  }
};

struct SquareOp {
  template <typename T> static T apply(T x) {
    return static_cast<T>(Widened<T>(x) * Widened<T>(x));
  }
  /// Infinite if one of the parts is, and without the cancellation of re^2 - im^2.
  template <typename T> static std::complex<T> apply(std::complex<T> x) {
    T re = x.real(), im = x.imag(), difference = re - im, sum = re + im;
    bool isZero = difference == 0 || sum == 0; // even if the other is infinite
    return {isZero ? T(0) : difference * sum, 2 * (re * im)};
  }
};

struct SqrtOp {
  static constexpr float cost = 2;
  template <typename T> static T apply(T x) { return T(std::sqrt(Computed<T>(x))); }
};

struct RsqrtOp {
  static constexpr float cost = 3;
  template <typename T> static T apply(T x) {
    return T(Computed<T>(1) / std::sqrt(Computed<T>(x)));
  }
};

struct ReciprocalOp {
  template <typename T> static T apply(T x) { return T(1) / x; }
};

struct FloorOp {
  template <typename T> static T apply(T x) { return T(std::floor(Computed<T>(x))); }
};
struct CeilOp {
  template <typename T> static T apply(T x) { return T(std::ceil(Computed<T>(x))); }
};
// Rounds halves to even: the processor's default rounding mode, which nothing here changes.
struct RoundOp {
  template <typename T> static T apply(T x) {
    if constexpr (std::is_integral_v<T>)
      return x;
    else
      return T(std::nearbyint(Computed<T>(x)));
  }
};

struct IsNanOp {
  template <typename T> static bool apply(T x) { return x != x; }
};
struct IsInfOp {
  template <typename T> static bool apply(T x) {
    return std::fabs(Computed<T>(x)) == std::numeric_limits<Computed<T>>::infinity();
  }
};
struct IsFiniteOp {
  template <typename T> static bool apply(T x) {
    return std::fabs(Computed<T>(x)) < std::numeric_limits<Computed<T>>::infinity();
  }
};

struct RealOp {
  template <typename T> static auto apply(T x) { return x.real(); }
};
struct ImagOp {
  template <typename T> static auto apply(T x) { return x.imag(); }
};
struct AngleOp {
  static constexpr float cost = 20;
  template <typename T> static auto apply(T x) { return std::arg(canonical(x)); }
};
struct ComplexAbsOp {
  static constexpr float cost = 5;
  template <typename T> static auto apply(T x) { return std::abs(x); }
  /// Double holds the squares of floats, so that the loop can be vectorized: only infinities are
  /// special.
  static float apply(Complex64 x) {
    double real = x.real(), imaginary = x.imag();
    // doesn't set errno
    double size = __builtin_elementwise_sqrt(real * real + imaginary * imaginary);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    bool isInfinite = std::abs(real) == infinity || std::abs(imaginary) == infinity;
    return static_cast<float>(isInfinite ? infinity : size); // even if the other part is NaN
  }
};
struct ConjOp {
  template <typename T> static T apply(T x) { return std::conj(x); }
};
struct MakeComplexOp {
  template <typename T> static std::complex<T> apply(T re, T im) { return {re, im}; }
};

struct InvertOp {
  template <typename T> static T apply(T x) { return static_cast<T>(~x); }
};
struct PopulationCountOp {
  template <typename T> static uint8_t apply(T x) {
    return static_cast<uint8_t>(std::popcount(static_cast<Wrapping<T>>(x)));
  }
};

// --- binary ops on bits ------------------------------------------------------------------------

struct BitwiseAndOp {
  template <typename T> static T apply(T a, T b) { return a & b; }
};
struct BitwiseOrOp {
  template <typename T> static T apply(T a, T b) { return a | b; }
};
struct BitwiseXorOp {
  template <typename T> static T apply(T a, T b) { return a ^ b; }
};

// Clamps shift counts to [0, width].
template <typename T> int shiftCount(T count) {
  constexpr T largest = sizeof(T) * 8 - 1;
  if constexpr (std::is_signed_v<T>)
    if (count < 0)
      return 0;
  return static_cast<int>(count > largest ? largest : count);
}
struct LeftShiftOp {
  template <typename T> static T apply(T a, T b) {
    return static_cast<T>(static_cast<Widened<Wrapping<T>>>(a) << shiftCount(b));
  }
};
struct RightShiftOp {
  template <typename T> static T apply(T a, T b) { return static_cast<T>(a >> shiftCount(b)); }
};

// --- tables ------------------------------------------------------------------------------------

Expected<BoundKernel> bindComplex(const BindContext &node) {
  BoundKernel bound;
  auto bind = [&]<typename T>() {
    bound.fn = [](OpContext &ctx) {
      using Kernel = BinaryKernel<MakeComplexOp, T>;
      runBinary(ctx, Kernel::spec, dtypeOf<std::complex<T>>);
    };
  };
  if (!visitType(node.inputTypes[0], TypeList<float, double>(), bind))
    return unsupportedDType(node, node.inputTypes[0]);
  return bound;
}

// Conj of a non-complex tensor is the identity.
Expected<BoundKernel> bindConj(const BindContext &node) {
  if (isComplex(node.inputTypes[0]))
    return bindUnary<ConjOp, ComplexTypes>(node);
  BoundKernel bound;
  bound.fn = [](OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); };
  return bound;
}

using SignedNumbers = Join<FloatTypes, SignedTypes>;
using FloatAndComplexTypes = Join<FloatTypes, ComplexTypes>;

const KernelEntry elementwiseUnaryTable[] = {
    {"Neg", bindUnary<NegOp, Join<SignedNumbers, ComplexTypes>>},
    {"Abs", bindUnary<AbsOp, SignedNumbers>},
    {"Sign", bindUnary<SignOp, Join<SignedNumbers, ComplexTypes>>},
    {"Square", bindUnary<SquareOp, NumericTypes>},
    {"Sqrt", bindUnary<SqrtOp, FloatAndComplexTypes>},
    {"Rsqrt", bindUnary<RsqrtOp, FloatAndComplexTypes>},
    {"Reciprocal", bindUnary<ReciprocalOp, FloatAndComplexTypes>},
    {"Inv", bindUnary<ReciprocalOp, FloatAndComplexTypes>},
    {"Floor", bindUnary<FloorOp, FloatTypes>},
    {"Ceil", bindUnary<CeilOp, FloatTypes>},
    {"Round", bindUnary<RoundOp, Join<FloatTypes, TypeList<int32_t, int64_t>>>},
    {"Rint", bindUnary<RoundOp, FloatTypes>},
    {"IsNan", bindUnary<IsNanOp, FloatTypes>},
    {"IsInf", bindUnary<IsInfOp, FloatTypes>},
    {"IsFinite", bindUnary<IsFiniteOp, FloatTypes>},
    {"Real", bindUnary<RealOp, ComplexTypes>},
    {"Imag", bindUnary<ImagOp, ComplexTypes>},
    {"Angle", bindUnary<AngleOp, ComplexTypes>},
    {"ComplexAbs", bindUnary<ComplexAbsOp, ComplexTypes>},
    {"Conj", bindConj},
    {"Complex", bindComplex},
    {"Invert", bindUnary<InvertOp, IntegerTypes>},
    {"PopulationCount", bindUnary<PopulationCountOp, IntegerTypes>},
    {"BitwiseAnd", bindWrapping<BitwiseAndOp, IntegerTypes>},
    {"BitwiseOr", bindWrapping<BitwiseOrOp, IntegerTypes>},
    {"BitwiseXor", bindWrapping<BitwiseXorOp, IntegerTypes>},
    {"LeftShift", bindBinary<LeftShiftOp, IntegerTypes>},
    {"RightShift", bindBinary<RightShiftOp, IntegerTypes>},
};

} // namespace

std::span<const KernelEntry> elementwiseUnaryKernels() { return elementwiseUnaryTable; }

} // namespace treadle
