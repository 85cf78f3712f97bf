// Numbers of 8 and 4 bits, which are only stored and converted, never computed with.
#pragma once

#include "treadle/kernels/Element.h"

#include <bit>
#include <cmath>
#include <limits>

namespace treadle {

/// A float of 8 bits with so many bits of fraction. One with infinities has them where IEEE 754
/// would; one without uses those exponents for numbers, and all ones for what is no number.
template <int fractionBits, bool hasInfinities> struct Float8 {
  static constexpr int exponentBits = 7 - fractionBits;
  static constexpr int bias = (1 << (exponentBits - 1)) - 1;
  static constexpr uint8_t infinity = ((1 << exponentBits) - 1) << fractionBits;
  static constexpr uint8_t noNumber = hasInfinities ? infinity | 1 << (fractionBits - 1) : 0x7f;
  static constexpr int tooLarge = hasInfinities ? infinity : 0x7f; // the least bits of none

  Float8() = default;
  explicit Float8(double x) {
    uint8_t sign = std::signbit(x) ? 0x80 : 0;
    double size = std::abs(x);
    if (std::isnan(x)) {
      bits = sign | noNumber;
      return;
    }
    // The fraction as an integer, rounded to even; subnormal numbers have the least exponent.
    int exponent =
        size > 0 && std::isfinite(size) ? std::max(std::ilogb(size), 1 - bias) : 1 - bias;
    double steps = std::nearbyint(std::ldexp(size, fractionBits - exponent));
    double all = std::ldexp(exponent + bias - 1, fractionBits) + steps;
    bits = sign | static_cast<uint8_t>(all < tooLarge ? static_cast<int>(all) : overflow());
  }

  explicit operator float() const {
    int fraction = bits & ((1 << fractionBits) - 1), exponent = (bits & 0x7f) >> fractionBits;
    float size;
    if (hasInfinities ? exponent == (1 << exponentBits) - 1 : (bits & 0x7f) == 0x7f)
      size = hasInfinities && !fraction ? std::numeric_limits<float>::infinity()
                                        : std::numeric_limits<float>::quiet_NaN();
    else if (exponent)
      size = std::ldexp(static_cast<float>(fraction | 1 << fractionBits),
                        exponent - bias - fractionBits);
    else
      size = std::ldexp(static_cast<float>(fraction), 1 - bias - fractionBits);
    return bits & 0x80 ? -size : size;
  }

  uint8_t bits;

private:
  static constexpr int overflow() { return hasInfinities ? infinity : noNumber; }
};

using Float8E5M2 = Float8<2, true>;
using Float8E4M3FN = Float8<3, false>;
template <> inline constexpr DType dtypeOf<Float8E5M2> = DType::Float8E5M2;
template <> inline constexpr DType dtypeOf<Float8E4M3FN> = DType::Float8E4M3FN;

/// An integer of 4 bits, in a byte of its own.
template <typename Byte> struct Nibble {
  Nibble() = default;
  explicit Nibble(int64_t x)
      : value(static_cast<Byte>(static_cast<Byte>(static_cast<uint8_t>(x) << 4) >> 4)) {}
  explicit operator int64_t() const { return value; }
  Byte value;
};

using Int4 = Nibble<int8_t>;
using UInt4 = Nibble<uint8_t>;
template <> inline constexpr DType dtypeOf<Int4> = DType::Int4;
template <> inline constexpr DType dtypeOf<UInt4> = DType::UInt4;

template <typename T>
inline constexpr bool isFloat8 = std::is_same_v<T, Float8E5M2> || std::is_same_v<T, Float8E4M3FN>;
template <typename T>
inline constexpr bool isNibble = std::is_same_v<T, Int4> || std::is_same_v<T, UInt4>;

} // namespace treadle
