// Sums of many numbers that are rounded once: the running total has a higher precision than the
// numbers.
#pragma once

#include "treadle/kernels/elementwise/Elementwise.h"

#include <type_traits>

namespace treadle {

/// A sum of integers, which wraps around, or of floats of up to 32 bits, which are added as
/// doubles.
template <typename T> class RunningTotal {
  using Sum = std::conditional_t<isRealFloat<T>, double, T>;

public:
  void add(T x) {
    if constexpr (isRealFloat<T>)
      sum += static_cast<double>(x);
    else
      sum = static_cast<T>(Widened<T>(sum) + Widened<T>(x));
  }
  T value() const { return static_cast<T>(sum); }

private:
  Sum sum{};
};

/// A sum of doubles with compensation of the rounding errors (Knuth's TwoSum).
template <> class RunningTotal<double> {
public:
  void add(double x) {
    double before = sum;
    sum += x;
    double added = sum - before;
    lost += (before - (sum - added)) + (x - added);
  }
  /// If the sum is infinite, the compensation is NaN.
  double value() const { return lost == lost ? sum + lost : sum; }

private:
  double sum = 0, lost = 0;
};

template <typename T> class RunningTotal<std::complex<T>> {
public:
  void add(std::complex<T> x) {
    real.add(x.real());
    imaginary.add(x.imag());
  }
  std::complex<T> value() const { return {real.value(), imaginary.value()}; }

private:
  RunningTotal<T> real, imaginary;
};

} // namespace treadle
