// Sums and products of numbers of any type; those of integers wrap around.
#pragma once

#include "treadle/kernels/elementwise/Elementwise.h"

namespace treadle {

template <typename T> T wrappingSum(T a, T b) {
  return static_cast<T>(Widened<T>(a) + Widened<T>(b));
}
template <typename T> T wrappingProduct(T a, T b) {
  return static_cast<T>(Widened<T>(a) * Widened<T>(b));
}

} // namespace treadle
