// Gradients of float filters computed in register tiles: window elements for some input channels,
// times some result channels.
#pragma once

#include "treadle/kernels/windows/ConvolutionPlan.h"

namespace treadle {

/// Returns null for other forms, and if registers would be nearly empty.
std::shared_ptr<const ConvolutionPlan> makeTiledFilterGradient(const ConvolutionForm &form);

} // namespace treadle
