// Convolutions of floats, and gradients of their inputs, as tiles of registers: of the windows at
// some positions of the result, and some of its channels.
#pragma once

#include "treadle/kernels/windows/ConvolutionPlan.h"

namespace treadle {

/// Null where registers would be nearly empty: where each group has few channels, or nearly each
/// window reaches another part of the padding. Not for gradients of filters.
std::shared_ptr<const ConvolutionPlan> makeTiledConvolution(const ConvolutionForm &form);

} // namespace treadle
