// Gradients of filters of floats, as tiles of registers: of the elements of a window that meet some
// channels of the input, and some channels of the result.
#pragma once

#include "treadle/kernels/windows/ConvolutionPlan.h"

namespace treadle {

/// Null for all else that a form may want, and where registers would be nearly empty.
std::shared_ptr<const ConvolutionPlan> makeTiledFilterGradient(const ConvolutionForm &form);

} // namespace treadle
