// Elements in another order than C's.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <algorithm>

namespace treadle::pjrt {

/// Bytes from one element to the next of each dimension, in C's order.
inline std::vector<int64_t> denseStrides(Dims dims, DType dtype) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = static_cast<int64_t>(dtypeSize(dtype));
  for (size_t i = dims.size(); i-- > 0; stride *= std::max<int64_t>(dims[i], 1))
    strides[i] = stride;
  return strides;
}

/// Copies the elements of dimensions from `dim` on. Strides are in bytes.
inline void copyStrided(Dims dims, size_t elementBytes, size_t dim, const char *from,
                        const int64_t *fromStrides, char *to, const int64_t *toStrides) {
  auto dense = static_cast<int64_t>(elementBytes);
  if (dim == dims.size()) {
    std::memcpy(to, from, elementBytes);
  } else if (dim + 1 == dims.size() && fromStrides[dim] == dense && toStrides[dim] == dense) {
    std::memcpy(to, from, elementBytes * static_cast<size_t>(dims[dim]));
  } else {
    for (int64_t i = 0; i < dims[dim]; ++i)
      copyStrided(dims, elementBytes, dim + 1, from + i * fromStrides[dim], fromStrides,
                  to + i * toStrides[dim], toStrides);
  }
}

} // namespace treadle::pjrt
