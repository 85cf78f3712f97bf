// Uniform and normal numbers from the bits of a Philox stream, as in TensorFlow.
#pragma once

#include "treadle/kernels/random/RandomFill.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace treadle {

// --- uniform numbers: random mantissas with the exponent of [1, 2), minus 1 ----------------------

inline float uniformFloat(uint32_t x) {
  return std::bit_cast<float>(uint32_t{127} << 23 | (x & 0x7fffff)) - 1;
}
inline double uniformDouble(uint32_t x0, uint32_t x1) {
  uint64_t mantissa = uint64_t{x0 & 0xfffff} << 32 | x1;
  return std::bit_cast<double>(uint64_t{1023} << 52 | mantissa) - 1;
}
template <typename T> T uniformNumber(uint32_t x) {
  if constexpr (std::is_same_v<T, Half>)
    return std::bit_cast<Half>(static_cast<uint16_t>(15 << 10 | (x & 0x3ff))) - Half(1);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return std::bit_cast<BFloat16>(static_cast<uint16_t>(127 << 7 | (x & 0x7f))) - BFloat16(1);
  else
    return uniformFloat(x);
}

// Returns two normal numbers from two uniform ones (Box-Muller).
template <typename T> std::array<T, 2> normalPair(T x, T y) {
  T radius = std::sqrt(T(-2) * std::log(std::max(x, T(1.0e-7))));
  T angle = static_cast<T>(2 * std::numbers::pi * y); // rounded once
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

// --- distributions: `draw` returns a group of numbers --------------------------------------------

template <typename T> inline constexpr int groupOf = sizeof(T) == 8 ? 2 : 4;

template <typename T> struct UniformNumbers {
  static constexpr float cost = 2;
  static void draw(Philox &stream, const IntegerRange &, T *out) {
    Philox::Block x = stream.next();
    if constexpr (sizeof(T) == 8)
      for (int i = 0; i < 2; ++i)
        out[i] = uniformDouble(x[2 * i], x[2 * i + 1]);
    else
      for (int i = 0; i < 4; ++i)
        out[i] = uniformNumber<T>(x[i]);
  }
};

template <typename T> struct NormalNumbers {
  static constexpr float cost = 15;
  static void draw(Philox &stream, const IntegerRange &, T *out) {
    Philox::Block x = stream.next();
    if constexpr (sizeof(T) == 8) {
      std::array<double, 2> pair = normalPair(uniformDouble(x[0], x[1]), uniformDouble(x[2], x[3]));
      std::copy_n(pair.data(), 2, out);
      return;
    }
    for (int i = 0; i < 4; i += 2) {
      std::array<float, 2> pair = normalPair(uniformFloat(x[i]), uniformFloat(x[i + 1]));
      out[i] = T(pair[0]);
      out[i + 1] = T(pair[1]);
    }
  }
};

/// Iterates over the single numbers of a stream. TensorFlow's samplers consume each group from its
/// end.
template <typename T, template <typename> class Numbers> class ReversedSampler {
public:
  explicit ReversedSampler(Philox &stream) : stream(stream) {}
  T next() {
    if (left == 0) {
      Numbers<T>::draw(stream, {}, group);
      left = groupOf<T>;
    }
    return group[--left];
  }

private:
  Philox &stream;
  T group[groupOf<T>];
  int left = 0;
};

} // namespace treadle
