#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// QuantizedConv2D with a filter of signed bytes, in which TensorFlow takes zero for zero whatever
/// the ranges are, and which may have a range for each channel.
Expected<BoundKernel> bindSymmetricConvolution(const BindContext &node);

} // namespace treadle
