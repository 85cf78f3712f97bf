// Sums, differences, products, extremes, and string concatenation.
#include "treadle/kernels/elementwise/Elementwise.h"

namespace treadle {
namespace {

struct AddOp {
  template <typename T> static T apply(const T &a, const T &b) {
    if constexpr (std::is_same_v<T, std::string>)
      return a + b;
    else
      return static_cast<T>(Widened<T>(a) + Widened<T>(b));
  }
};

struct SubOp {
  template <typename T> static T apply(T a, T b) {
    return static_cast<T>(Widened<T>(a) - Widened<T>(b));
  }
};

struct MulOp {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isComplexType<T>)
      return T(a.real() * b.real() - a.imag() * b.imag(),
               a.real() * b.imag() + a.imag() * b.real());
    else
      return static_cast<T>(Widened<T>(a) * Widened<T>(b));
  }
};

// 0 if y is 0, whatever x is.
struct MulNoNanOp {
  template <typename T> static T apply(T a, T b) { return b == T(0) ? T(0) : MulOp::apply(a, b); }
};

struct SquaredDifferenceOp {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isComplexType<T>) {
      return T(std::norm(a - b), 0);
    } else {
      T d = SubOp::apply(a, b);
      return MulOp::apply(d, d);
    }
  }
};

// NaN if either operand is NaN.
struct MaximumOp {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isRealFloat<T>)
      return a != a ? a : (a >= b ? a : b);
    else
      return a < b ? b : a;
  }
};

struct MinimumOp {
  template <typename T> static T apply(T a, T b) {
    if constexpr (isRealFloat<T>)
      return a != a ? a : (a <= b ? a : b);
    else
      return b < a ? b : a;
  }
};

using SquaredDifferenceTypes = Join<Join<FloatTypes, TypeList<int32_t, int64_t>>, ComplexTypes>;
using FloatAndComplexTypes = Join<FloatTypes, ComplexTypes>;

const KernelEntry elementwiseArithmeticTable[] = {
    {"Add", bindWrapping<AddOp, Join<NumericTypes, TypeList<std::string>>>},
    {"AddV2", bindWrapping<AddOp, Join<NumericTypes, TypeList<std::string>>>},
    {"Sub", bindWrapping<SubOp, NumericTypes>},
    {"Mul", bindWrapping<MulOp, NumericTypes>},
    {"MulNoNan", bindBinary<MulNoNanOp, FloatAndComplexTypes>},
    {"SquaredDifference", bindWrapping<SquaredDifferenceOp, SquaredDifferenceTypes>},
    {"Maximum", bindBinary<MaximumOp, RealTypes>},
    {"Minimum", bindBinary<MinimumOp, RealTypes>},
};

} // namespace

std::span<const KernelEntry> elementwiseArithmeticKernels() { return elementwiseArithmeticTable; }

} // namespace treadle
