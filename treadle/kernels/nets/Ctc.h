// Sums of probabilities in log space, for connectionist temporal classification (CTC).
#pragma once

#include <cmath>
#include <limits>

namespace treadle {

template <typename T> inline constexpr T logZero = -std::numeric_limits<T>::infinity();

/// Returns log(exp(a) + exp(b)). The correction is a float even for doubles, as in TensorFlow.
template <typename T> T logSum(T a, T b) {
  if (a == logZero<T>)
    return b;
  if (b == logZero<T>)
    return a;
  auto correction = [](T difference) {
    return std::log1p(std::exp(static_cast<float>(difference)));
  };
  return a > b ? a + correction(b - a) : b + correction(a - b);
}

} // namespace treadle
