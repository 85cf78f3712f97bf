// Internal to the view: the distribution of a tensor's elements.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <array>
#include <optional>

namespace treadle::view {

struct Histogram {
  int64_t count = 0, zeros = 0, nans = 0, infinities = 0;
  double min = 0, max = 0, mean = 0; // of the finite elements
  std::array<int64_t, 32> bins{};    // counts of these, from min to max
};

/// Returns nullopt for tensors of strings, handles and complex numbers, and for empty ones.
std::optional<Histogram> histogramOf(const Tensor &tensor);

} // namespace treadle::view
