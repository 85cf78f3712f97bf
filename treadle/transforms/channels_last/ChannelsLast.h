// Images with their channels last, which is how our kernels compute them.
#pragma once

#include "treadle/transforms/fuse_kernels/FuseKernels.h"

namespace treadle::tfg {

/// Makes the convolutions, pools and normalisations of a body whose images have their channels
/// first ones of images with channels last. What lies between them follows, so that images are
/// turned at the borders alone: where they come in, where they go out, and before what depends on
/// the order of dimensions. A node that is kept gives what it gave, by its name. The values are
/// those that they were.
void putChannelsLast(const FusionScope &scope);

/// Whether a node says that channels come first.
bool hasChannelsFirst(Node node);

} // namespace treadle::tfg
