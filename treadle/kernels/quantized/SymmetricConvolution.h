#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// Binds QuantizedConv2D with a filter of signed bytes, for which TensorFlow takes 0 for zero
/// regardless of the ranges; the filter may have a range per channel.
Expected<BoundKernel> bindSymmetricConvolution(const BindContext &node);

} // namespace treadle
