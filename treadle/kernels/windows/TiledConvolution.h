// Convolutions of floats, and gradients of their inputs, computed in register tiles: windows at
// some positions of the result, times some of its channels.
#pragma once

#include "treadle/kernels/windows/ConvolutionPlan.h"

namespace treadle {

/// Returns null for depthwise convolutions, for gradients of filters, and if windows overlap the
/// padding in too many ways.
std::shared_ptr<const ConvolutionPlan> makeTiledConvolution(const ConvolutionForm &form);

} // namespace treadle
