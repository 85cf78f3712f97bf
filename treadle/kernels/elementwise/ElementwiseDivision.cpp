// Quotients and remainders, powers.
#include "treadle/kernels/elementwise/CanonicalOperand.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <cmath>

namespace treadle {
namespace {

constexpr const char *divisionByZero = "integer division by zero";

// The quotient of the smallest integer and -1 wraps around; the processor would trap.
template <typename T> T negated(T a) { return static_cast<T>(Widened<Wrapping<T>>(0) - a); }

template <typename T> T truncatedQuotient(T a, T b, bool &failed) {
  if (b == 0) [[unlikely]] {
    failed = true;
    return 0;
  }
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return negated(a);
  return a / b;
}

template <typename T> T truncatedRemainder(T a, T b, bool &failed) {
  if (b == 0) [[unlikely]] {
    failed = true;
    return 0;
  }
  if constexpr (std::is_signed_v<T>)
    if (b == -1)
      return 0;
  return a % b;
}

struct QuotientOp {
  template <typename T> static T apply(T a, T b) { return a / b; }
};

struct TruncateDivOp {
  static constexpr float cost = 3;
  static constexpr const char *failure = divisionByZero;
  template <typename T> static T apply(T a, T b, bool &failed) {
    return truncatedQuotient(a, b, failed);
  }
};

struct TruncateDivRealOp {
  template <typename T> static T apply(T a, T b) { return T(std::trunc(Computed<T>(a / b))); }
};

struct FloorDivOp {
  static constexpr float cost = 3;
  static constexpr const char *failure = divisionByZero;
  template <typename T> static T apply(T a, T b, bool &failed) {
    T q = truncatedQuotient(a, b, failed);
    if constexpr (std::is_signed_v<T>) {
      bool ignored = false;
      if ((a < 0) != (b < 0) && truncatedRemainder(a, b, ignored) != 0)
        return q - 1;
    }
    return q;
  }
};

struct FloorDivRealOp {
  template <typename T> static T apply(T a, T b) { return T(std::floor(Computed<T>(a / b))); }
};

struct TruncateModOp {
  static constexpr float cost = 3;
  static constexpr const char *failure = divisionByZero;
  template <typename T> static T apply(T a, T b, bool &failed) {
    return truncatedRemainder(a, b, failed);
  }
};

struct TruncateModRealOp {
  static constexpr float cost = 10;
  template <typename T> static T apply(T a, T b) {
    return T(std::fmod(Computed<T>(a), Computed<T>(b)));
  }
};

struct FloorModOp {
  static constexpr float cost = 3;
  static constexpr const char *failure = divisionByZero;
  template <typename T> static T apply(T a, T b, bool &failed) {
    T r = truncatedRemainder(a, b, failed);
    if constexpr (std::is_signed_v<T>)
      if (r != 0 && (r < 0) != (b < 0))
        return r + b;
    return r;
  }
};

struct FloorModRealOp {
  static constexpr float cost = 10;
  template <typename T> static T apply(T a, T b) {
    Computed<T> x(a), y(b), r = std::fmod(x, y);
    return T(r != 0 && (r < 0) != (y < 0) ? r + y : r);
  }
};

struct DivNoNanOp {
  template <typename T> static T apply(T a, T b) { return b == T(0) ? T(0) : a / b; }
};

struct PowOp {
  static constexpr float cost = 15;
  template <typename T> static T apply(T a, T b) {
    if constexpr (isSmallFloat<T>)
      return T(std::pow(canonical(float(a)), canonical(float(b))));
    else
      return std::pow(canonical(a), canonical(b));
  }
};

struct IntegerPowOp {
  static constexpr float cost = 5;
  static constexpr const char *failure = "integers to negative integer powers are not allowed";
  template <typename T> static T apply(T base, T exponent, bool &failed) {
    if (exponent < 0) [[unlikely]] {
      failed = true;
      return 0;
    }
    using U = Widened<Wrapping<T>>;
    U result = 1, square = static_cast<U>(base);
    for (auto e = static_cast<U>(exponent); e; e >>= 1, square *= square)
      if (e & 1)
        result *= square;
    return static_cast<T>(result);
  }
};

// x / y and so on, but 0 if x is 0.
struct XdivyOp {
  template <typename T> static T apply(T x, T y) { return x == T(0) ? T(0) : x / y; }
};
struct XlogyOp {
  static constexpr float cost = 10;
  template <typename T> static T apply(T x, T y) {
    return x == T(0) ? T(0) : x * T(std::log(canonical(Computed<T>(y))));
  }
};
struct Xlog1pyOp {
  static constexpr float cost = 10;
  template <typename T> static T apply(T x, T y) {
    if constexpr (isComplexType<T>)
      return x == T(0) ? T(0) : x * std::log(T(1) + y);
    else
      return x == T(0) ? T(0) : x * T(std::log1p(Computed<T>(y)));
  }
};

struct Atan2Op {
  static constexpr float cost = 20;
  template <typename T> static T apply(T y, T x) {
    return T(std::atan2(canonical(Computed<T>(y)), canonical(Computed<T>(x))));
  }
};

struct NextAfterOp {
  static constexpr float cost = 5;
  template <typename T> static T apply(T a, T b) { return std::nextafter(a, b); }
};

using FloatAndComplexTypes = Join<FloatTypes, ComplexTypes>;

/// Binds an op whose integer version may fail and whose float version can't.
template <typename IntegerOp, typename Integers, typename RealOp, typename Reals>
Expected<BoundKernel> bindDivision(const BindContext &node) {
  if (isInteger(node.inputTypes[0]))
    return bindBinary<IntegerOp, Integers>(node);
  return bindBinary<RealOp, Reals>(node);
}

using ModIntegers = TypeList<int32_t, int64_t>;

const KernelEntry elementwiseDivisionTable[] = {
    {"Div", bindDivision<TruncateDivOp, IntegerTypes, QuotientOp, FloatAndComplexTypes>},
    {"RealDiv", bindBinary<QuotientOp, FloatAndComplexTypes>},
    {"DivNoNan", bindBinary<DivNoNanOp, FloatAndComplexTypes>},
    {"TruncateDiv", bindDivision<TruncateDivOp, IntegerTypes, TruncateDivRealOp, FloatTypes>},
    {"FloorDiv", bindDivision<FloorDivOp, IntegerTypes, FloorDivRealOp, FloatTypes>},
    {"Mod", bindDivision<TruncateModOp, ModIntegers, TruncateModRealOp, FloatTypes>},
    {"TruncateMod", bindDivision<TruncateModOp, ModIntegers, TruncateModRealOp, FloatTypes>},
    {"FloorMod", bindDivision<FloorModOp, IntegerTypes, FloorModRealOp, FloatTypes>},
    {"Pow", bindDivision<IntegerPowOp, SignedTypes, PowOp, FloatAndComplexTypes>},
    {"Xdivy", bindBinary<XdivyOp, FloatAndComplexTypes>},
    {"Xlogy", bindBinary<XlogyOp, FloatAndComplexTypes>},
    {"Xlog1py", bindBinary<Xlog1pyOp, FloatAndComplexTypes>},
    {"Atan2", bindBinary<Atan2Op, FloatTypes>},
    {"NextAfter", bindBinary<NextAfterOp, TypeList<float, double>>},
};

} // namespace

std::span<const KernelEntry> elementwiseDivisionKernels() { return elementwiseDivisionTable; }

} // namespace treadle
