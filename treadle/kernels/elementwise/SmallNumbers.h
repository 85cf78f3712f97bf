// Numbers of 8, 4 and 2 bits, which are only stored and converted, never computed with.
#pragma once

#include "treadle/kernels/Element.h"

#include <bit>
#include <cmath>
#include <limits>

namespace treadle {

/// The special values of an 8-bit float: infinities and NaNs as in IEEE 754; only NaN, with all
/// bits set; or only NaN, instead of -0.
enum class SpecialValues : uint8_t { Ieee, AllOnes, NegativeZero };

/// An 8-bit float with the given number of fraction bits.
template <int fractionBits, int bias, SpecialValues specials> struct Float8 {
  static constexpr int exponentBits = 7 - fractionBits;
  static constexpr bool isIeee = specials == SpecialValues::Ieee;
  static constexpr bool hasNegativeZero = specials != SpecialValues::NegativeZero;
  static constexpr uint8_t infinity = ((1 << exponentBits) - 1) << fractionBits;
  static constexpr uint8_t noNumber = isIeee            ? infinity | 1 << (fractionBits - 1)
                                      : hasNegativeZero ? 0x7f
                                                        : 0x80;
  // the lowest bits beyond all numbers
  static constexpr int tooLarge = isIeee ? infinity : noNumber;

  Float8() = default;
  explicit Float8(double x) {
    uint8_t sign = std::signbit(x) ? 0x80 : 0;
    double size = std::abs(x);
    if (std::isnan(x)) {
      bits = sign | noNumber;
      return;
    }
    // The fraction as an integer, rounded to even; subnormal numbers have the lowest exponent.
    int exponent =
        size > 0 && std::isfinite(size) ? std::max(std::ilogb(size), 1 - bias) : 1 - bias;
    double steps = std::nearbyint(std::ldexp(size, fractionBits - exponent));
    double all = std::ldexp(exponent + bias - 1, fractionBits) + steps;
    bits = static_cast<uint8_t>(all < tooLarge ? static_cast<int>(all) : tooLarge);
    if (bits || hasNegativeZero)
      bits |= sign;
  }

  explicit operator float() const {
    int fraction = bits & ((1 << fractionBits) - 1), exponent = (bits & 0x7f) >> fractionBits;
    float size;
    if (isIeee ? exponent == (1 << exponentBits) - 1
               : (hasNegativeZero ? bits & 0x7f : bits) == noNumber)
      size = isIeee && !fraction ? std::numeric_limits<float>::infinity()
                                 : std::numeric_limits<float>::quiet_NaN();
    else if (exponent)
      size = std::ldexp(static_cast<float>(fraction | 1 << fractionBits),
                        exponent - bias - fractionBits);
    else
      size = std::ldexp(static_cast<float>(fraction), 1 - bias - fractionBits);
    return bits & 0x80 ? -size : size;
  }

  uint8_t bits;
};

using Float8E5M2 = Float8<2, 15, SpecialValues::Ieee>;
using Float8E4M3FN = Float8<3, 7, SpecialValues::AllOnes>;
using Float8E5M2FNUZ = Float8<2, 16, SpecialValues::NegativeZero>;
using Float8E4M3FNUZ = Float8<3, 8, SpecialValues::NegativeZero>;
using Float8E4M3B11FNUZ = Float8<3, 11, SpecialValues::NegativeZero>;
template <> inline constexpr DType dtypeOf<Float8E5M2> = DType::Float8E5M2;
template <> inline constexpr DType dtypeOf<Float8E4M3FN> = DType::Float8E4M3FN;
template <> inline constexpr DType dtypeOf<Float8E5M2FNUZ> = DType::Float8E5M2FNUZ;
template <> inline constexpr DType dtypeOf<Float8E4M3FNUZ> = DType::Float8E4M3FNUZ;
template <> inline constexpr DType dtypeOf<Float8E4M3B11FNUZ> = DType::Float8E4M3B11FNUZ;

/// An integer of a few bits, stored in a byte.
template <typename Byte, int bits> struct FewBits {
  FewBits() = default;
  explicit FewBits(int64_t x)
      : value(static_cast<Byte>(static_cast<Byte>(static_cast<uint8_t>(x) << (8 - bits)) >>
                                (8 - bits))) {}
  explicit operator int64_t() const { return value; }
  Byte value;
};

using Int2 = FewBits<int8_t, 2>;
using UInt2 = FewBits<uint8_t, 2>;
using Int4 = FewBits<int8_t, 4>;
using UInt4 = FewBits<uint8_t, 4>;
template <> inline constexpr DType dtypeOf<Int2> = DType::Int2;
template <> inline constexpr DType dtypeOf<UInt2> = DType::UInt2;
template <> inline constexpr DType dtypeOf<Int4> = DType::Int4;
template <> inline constexpr DType dtypeOf<UInt4> = DType::UInt4;

template <typename T> inline constexpr bool isFloat8 = false;
template <int fractionBits, int bias, SpecialValues specials>
inline constexpr bool isFloat8<Float8<fractionBits, bias, specials>> = true;
template <typename T> inline constexpr bool hasFewBits = false;
template <typename Byte, int bits> inline constexpr bool hasFewBits<FewBits<Byte, bits>> = true;

} // namespace treadle
