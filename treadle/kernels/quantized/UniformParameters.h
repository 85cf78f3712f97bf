// Internal to the folder: the quantization of TensorFlow's Uniform ops. An integer represents
// (integer - zero point) * scale, with one scale and zero point for all or for each slice along an
// axis.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <cmath>

namespace treadle::uniform {

/// The range of integers, from the attributes with a prefix (`lhs_`, or none).
struct QuantizedRange {
  int64_t axis = -1;
  int32_t min, max;

  static Expected<QuantizedRange> of(const BindContext &node, const std::string &prefix) {
    int64_t min = TREADLE_TRY(node.attrs.get<int64_t>(prefix + "quantization_min_val")),
            max = TREADLE_TRY(node.attrs.get<int64_t>(prefix + "quantization_max_val"));
    int64_t axis = node.attrs.getOr<int64_t>(prefix + "quantization_axis", -1);
    if (min > max || min < INT32_MIN || max > INT32_MAX || axis < -1)
      return Unexpected(invalidArgument(prefix, "quantization_min_val is ", min, ", _max_val ", max,
                                        " and _axis ", axis,
                                        ", expected an int32 range and an axis of -1 or more"));
    return QuantizedRange{axis, static_cast<int32_t>(min), static_cast<int32_t>(max)};
  }

  int32_t clamped(int32_t x) const { return std::clamp(x, min, max); }
};

/// Adds integers that wrap around, as in TensorFlow.
inline int32_t wrappingSum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t wrappingDifference(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

/// The scales and zero points of the slices of a tensor.
class QuantizationParameters {
public:
  /// Reads the parameters of a tensor of shape `dims` from inputs `i` and `i + 1`. Ops that
  /// multiply by a quotient of scales need positive ones.
  static Expected<QuantizationParameters> of(OpContext &ctx, int i, int64_t axis, Dims dims,
                                             bool mustBePositive = true) {
    const Tensor &scales = ctx.input(i), &zeros = ctx.input(i + 1);
    bool isWhole = axis == -1;
    bool fits = isWhole ? scales.rank() == 0 && zeros.rank() == 0
                        : axis < std::ssize(dims) && scales.rank() == 1 && zeros.rank() == 1 &&
                              scales.dim(0) == dims[static_cast<size_t>(axis)] &&
                              zeros.dim(0) == scales.dim(0);
    if (!fits)
      return Unexpected(invalidArgument(
          "scales and zero_points are ", tensorTypeText(scales), " and ", tensorTypeText(zeros),
          ", expected ", isWhole ? "scalars" : "vectors of the size of dimension ",
          isWhole ? "" : std::to_string(axis), " of ", dimsText(dims)));
    for (int64_t s = 0; mustBePositive && s < scales.count(); ++s)
      if (!(scales.data<float>()[s] > 0))
        return Unexpected(
            invalidArgument("scales must be positive, but one is ", scales.data<float>()[s]));
    QuantizationParameters p(scales, zeros);
    if (!isWhole) {
      p.count = scales.dim(0);
      for (size_t d = static_cast<size_t>(axis) + 1; d < dims.size(); ++d)
        p.stride *= dims[d];
    }
    return p;
  }
  /// Like `of`, but returns nullopt, with ctx failed, on errors.
  static std::optional<QuantizationParameters> read(OpContext &ctx, int i, int64_t axis, Dims dims,
                                                    bool mustBePositive = true) {
    return ctx.check(of(ctx, i, axis, dims, mustBePositive));
  }

  /// Returns the slice of row-major element `i`.
  int64_t slice(int64_t i) const { return count == 1 ? 0 : i / stride % count; }
  float scale(int64_t slice) const { return scales.data<float>()[slice]; }
  int32_t zero(int64_t slice) const { return zeros.data<int32_t>()[slice]; }
  int64_t slices() const { return count; }

private:
  QuantizationParameters(Tensor scales, Tensor zeros)
      : scales(std::move(scales)), zeros(std::move(zeros)) {}

  Tensor scales, zeros;
  int64_t count = 1, stride = 1;
};

/// Rounds to the nearest integer, halves up; numbers out of range become the lowest int32, as in
/// the processor's conversion.
inline int32_t roundedUp(float x) {
  float whole = std::floor(x + 0.5f);
  return whole >= -0x1p31f && whole < 0x1p31f ? static_cast<int32_t>(whole) : INT32_MIN;
}

inline int32_t quantized(float x, float inverseScale, int32_t zero, const QuantizedRange &range) {
  return range.clamped(wrappingSum(roundedUp(x * inverseScale), zero));
}

/// Multiplies integers by a float in fixed-point arithmetic, as all of TensorFlow Lite's kernels
/// do.
class FixedPointMultiplier {
public:
  /// Converts a positive, finite factor. Large factors saturate.
  static Expected<FixedPointMultiplier> of(double factor) {
    if (!std::isfinite(factor) || factor <= 0)
      return Unexpected(
          invalidArgument("a factor of scales must be positive and finite, but is ", factor));
    int exponent;
    double mantissa = std::frexp(factor, &exponent);
    auto fixed = static_cast<int64_t>(std::llround(mantissa * 0x1p31));
    if (fixed == int64_t{1} << 31) {
      fixed /= 2;
      ++exponent;
    }
    if (exponent < -31)
      return FixedPointMultiplier(0, 0);
    if (exponent > 30)
      return FixedPointMultiplier(INT32_MAX, 30);
    return FixedPointMultiplier(fixed, exponent);
  }

  int32_t operator()(int32_t x) const {
    int64_t product = (x * number + (int64_t{1} << (shift - 1))) >> shift;
    return static_cast<int32_t>(std::clamp<int64_t>(product, INT32_MIN, INT32_MAX));
  }

private:
  FixedPointMultiplier(int64_t number, int exponent) : number(number), shift(31 - exponent) {}

  int64_t number;
  int shift;
};

} // namespace treadle::uniform
