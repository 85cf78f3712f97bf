// Tensors whose elements are mapped from a file.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <memory>

namespace treadle {

/// Returns a tensor of mapped elements that nothing else refers to; the mapping ends with the
/// tensor.
Tensor mappedTensor(DType dtype, Dims dims, std::shared_ptr<void> elements);

/// Whether the tensor is mapped from a file, or a view of one that is. Unlike other external
/// elements, these change only if the tensor is written.
bool isMappedTensor(const Tensor &tensor);

} // namespace treadle
