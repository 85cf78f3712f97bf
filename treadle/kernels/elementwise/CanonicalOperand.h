// Denormal operands of C functions.
#pragma once

#include <complex>

namespace treadle {

/// Returns x, or a zero of the same sign if x is denormal and the thread flushes denormal numbers.
/// C functions look at the bits of their operands and yield garbage, even NaN, for denormal ones
/// that arithmetic takes for zero.
template <typename T> T canonical(T x) {
  static const volatile T one = 1; // volatile: the compiler would drop the product
  return x * one;
}
template <typename T> std::complex<T> canonical(std::complex<T> x) {
  return {canonical(x.real()), canonical(x.imag())};
}

} // namespace treadle
