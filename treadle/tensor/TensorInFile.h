// Tensors whose elements are pages of a file.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <memory>

namespace treadle {

/// A tensor of elements in memory that nobody else has, which goes with the tensor.
Tensor tensorInFile(DType dtype, Dims dims, std::shared_ptr<void> elements);

/// Whether it is one, or a view of one: unlike other external elements, these change only if the
/// tensor is written.
bool isInFile(const Tensor &tensor);

} // namespace treadle
