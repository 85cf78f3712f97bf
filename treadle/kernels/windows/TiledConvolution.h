// Convolutions of floats, and gradients of their inputs, as tiles of registers: of the windows at
// some positions of the result, and some of its channels.
#pragma once

#include "treadle/kernels/windows/ConvolutionPlan.h"

namespace treadle {

/// Null where each channel has a filter of its own, and where windows reach the padding in too many
/// ways. Not for gradients of filters.
std::shared_ptr<const ConvolutionPlan> makeTiledConvolution(const ConvolutionForm &form);

} // namespace treadle
