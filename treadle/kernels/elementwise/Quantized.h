// Integers that represent the floats of a range, as in TensorFlow's quantized dtypes: the lowest
// integer represents the range's minimum, the highest its maximum.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace treadle {

/// Calls `visit` with the integer type behind a quantized dtype; returns false if it isn't one.
template <typename Visitor> bool visitQuantized(DType dtype, Visitor &&visit) {
  switch (dtype) {
  case DType::QInt8:
    visit.template operator()<int8_t>();
    return true;
  case DType::QUInt8:
    visit.template operator()<uint8_t>();
    return true;
  case DType::QInt16:
    visit.template operator()<int16_t>();
    return true;
  case DType::QUInt16:
    visit.template operator()<uint16_t>();
    return true;
  case DType::QInt32:
    visit.template operator()<int32_t>();
    return true;
  default:
    return false;
  }
}

/// The values of the lowest and the highest integer.
struct FloatRange {
  float min = 0, max = 0;
};

template <typename T>
inline constexpr auto lowestOf = static_cast<int64_t>(std::numeric_limits<T>::min());
template <typename T> inline constexpr int64_t highestOf = std::numeric_limits<T>::max();
template <typename T> inline constexpr double stepsOf = double(int64_t{1} << (8 * sizeof(T)));

/// Returns the quantization step: the distance between the floats of adjacent integers.
template <typename T> float levelOf(FloatRange range) {
  return (range.max - range.min) / static_cast<float>(highestOf<T> - lowestOf<T>);
}

/// Quantizes a float; the result may exceed T if the float is out of range.
template <typename T> int64_t quantizedUnclamped(float x, FloatRange range) {
  if (range.min == range.max)
    return lowestOf<T>;
  double adjust = stepsOf<T> / (stepsOf<T> - 1.0);
  double scale = stepsOf<T> / ((range.max - range.min) * adjust);
  double steps = std::round(x * scale) - std::round(range.min * scale);
  // a bound for values far out of range; NaN maps to its negative
  constexpr double most = int64_t{1} << 62;
  return static_cast<int64_t>(steps > -most ? std::min(steps, most) : -most) + lowestOf<T>;
}
template <typename T> T quantized(float x, FloatRange range) {
  return static_cast<T>(std::clamp(quantizedUnclamped<T>(x, range), lowestOf<T>, highestOf<T>));
}

template <typename T> float dequantized(T x, FloatRange range) {
  if (range.min == range.max)
    return range.min;
  double adjust = stepsOf<T> / (stepsOf<T> - 1.0);
  double scale = (range.max - range.min) * adjust / stepsOf<T>;
  auto rounded = static_cast<float>(scale);
  double least = std::round(range.min / rounded) * rounded;
  return static_cast<float>(least + (static_cast<double>(x) - lowestOf<T>)*scale);
}

/// Quantizes many floats in single precision, like TensorFlow's vectorized loops.
template <typename T> class Quantizer {
public:
  explicit Quantizer(FloatRange range)
      : scale(range.max == range.min
                  ? 0.0f
                  : static_cast<float>((stepsOf<T> - 1.0) / (range.max - range.min))),
        offset(std::round(range.min * scale) - static_cast<float>(lowestOf<T>)) {}

  T operator()(float x) const {
    constexpr float low = std::max(static_cast<float>(lowestOf<T>), -2.147483648e+09f);
    constexpr float high = std::min(static_cast<float>(highestOf<T>), 2.147483520e+09f);
    float steps = std::round(x * scale) - offset;
    steps = steps > low ? steps : low; // NaN too
    return static_cast<T>(static_cast<int32_t>(steps > high ? high : steps));
  }

private:
  float scale, offset;
};

/// Dequantizes many integers, likewise.
template <typename T> class Dequantizer {
public:
  explicit Dequantizer(FloatRange range)
      : scale(static_cast<float>((range.max - range.min) / (stepsOf<T> - 1.0))),
        least((range.max == range.min ? range.min : std::round(range.min / scale) * scale) -
              static_cast<float>(lowestOf<T>) * scale) {}

  float operator()(T x) const { return least + static_cast<float>(x) * scale; }

private:
  float scale, least;
};

/// Returns the range of a product of integers of types A and B that is accumulated in C.
template <typename A, typename B, typename C>
FloatRange rangeOfProduct(FloatRange a, FloatRange b) {
  float level = levelOf<A>(a) * levelOf<B>(b);
  return {level * static_cast<float>(lowestOf<C>), level * static_cast<float>(highestOf<C>)};
}

/// Reads the range in inputs `i` and `i + 1`; false, with ctx failed, if they aren't scalars.
inline bool readRange(OpContext &ctx, int i, FloatRange &range) {
  const Tensor &min = ctx.input(i), &max = ctx.input(i + 1);
  if (min.count() != 1 || max.count() != 1) {
    ctx.fail(invalidArgument("the range of an input must be two scalars, but they have shapes ",
                             dimsText(min.dims()), " and ", dimsText(max.dims())));
    return false;
  }
  range = {*min.data<float>(), *max.data<float>()};
  return true;
}

inline void setRangeOutputs(OpContext &ctx, int i, FloatRange range) {
  ctx.setOutput(i, Tensor::scalar(DType::Float32, range.min));
  ctx.setOutput(i + 1, Tensor::scalar(DType::Float32, range.max));
}

} // namespace treadle
