// Conversion of images to channels-last layout, which the runtime's kernels compute in.
#pragma once

#include "treadle/transforms/fuse_kernels/FuseKernels.h"

namespace treadle::tfg {

/// Converts the convolutions, pools and normalizations of a body from channels-first to
/// channels-last layout. The nodes between them are converted too, so that a Transpose is needed
/// only where images enter, where they leave, and before ops that depend on the order of
/// dimensions. Kept nodes have the same results under the same names. Values don't change.
void convertToChannelsLast(const FusionScope &scope);

/// Returns whether the data format of a node has the channels first.
bool hasChannelsFirst(Node node);

} // namespace treadle::tfg
