// Internal to the view: how the elements of a tensor are spread.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <array>
#include <optional>

namespace treadle::view {

struct Histogram {
  int64_t count = 0, zeros = 0, nans = 0, infinities = 0;
  double min = 0, max = 0, mean = 0; // of the finite ones
  std::array<int64_t, 32> bins{};    // of those, from min to max
};

/// Nothing for tensors of texts, handles and complex numbers, and for those without elements.
std::optional<Histogram> histogramOf(const Tensor &tensor);

} // namespace treadle::view
