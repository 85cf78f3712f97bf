// Conversion of numbers between dtypes.
#pragma once

#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/SmallNumbers.h"

#include <limits>

namespace treadle {

/// Converts a real number to an integer. Values out of range become what the processor's conversion
/// yields: the smallest int32 or int64; narrower types take the low bits of that int32.
template <typename To, typename From> To truncateReal(From x) {
  if constexpr (sizeof(To) < 4) {
    return static_cast<To>(truncateReal<int32_t>(x));
  } else if constexpr (std::is_signed_v<To>) {
    constexpr From limit = static_cast<From>(uint64_t{1} << (sizeof(To) * 8 - 1));
    return x >= -limit && x < limit ? static_cast<To>(x) : std::numeric_limits<To>::min();
  } else {
    constexpr To middle = To{1} << (sizeof(To) * 8 - 1);
    constexpr From limit = static_cast<From>(middle);
    if (x >= 0 && x < 2 * limit)
      return static_cast<To>(x);
    // Negative numbers wrap around like signed ones.
    return x < 0 && x >= -limit ? static_cast<To>(static_cast<std::make_signed_t<To>>(x)) : middle;
  }
}

/// Converts a number as `Cast` does.
template <typename To, typename From> To convert(const From &x) {
  if constexpr (isComplexType<From>) {
    if constexpr (isComplexType<To>)
      return To(static_cast<typename To::value_type>(x.real()),
                static_cast<typename To::value_type>(x.imag()));
    else if constexpr (std::is_same_v<To, bool>)
      return x != From(0);
    else
      return convert<To>(x.real());
  } else if constexpr (isComplexType<To>) {
    return To(convert<typename To::value_type>(x));
  } else if constexpr (isSmallFloat<From> || isFloat8<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (hasFewBits<From>) {
    return convert<To>(static_cast<int64_t>(x));
  } else if constexpr (isFloat8<To>) {
    return To(static_cast<double>(x));
  } else if constexpr (hasFewBits<To>) {
    return To(static_cast<int64_t>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (isSmallFloat<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return truncateReal<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

} // namespace treadle
