// Windows that slide over images and volumes: convolutions, pooling, dilation, and their gradients.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Convolutions of images and volumes, in groups and depthwise, with what is fused with them, and
/// their gradients.
std::span<const KernelEntry> convolutionKernels();
/// Dilation2D: the maximum of sums of an image and a filter under a sliding window (grey-scale
/// morphology), and its gradients, which go to where the maximum is.
std::span<const KernelEntry> dilationKernels();
/// Pooling by a ratio that is no whole number: windows of two sizes in a random order (B. Graham,
/// "Fractional max-pooling", 2014), and the gradients.
std::span<const KernelEntry> fractionalPoolingKernels();
/// FusedPadConv2D and FusedResizeAndPadConv2D, which TensorFlow's graph transforms made: a mirrored
/// border, perhaps of a resized image, and a convolution.
std::span<const KernelEntry> fusedPaddingKernels();
/// Maxima and means under a sliding window, and their gradients.
std::span<const KernelEntry> poolingKernels();
/// XlaConv: convolutions whose dimensions come in any order, with holes in input and filter, in
/// groups of the features or of the batch.
std::span<const KernelEntry> xlaConvolutionKernels();

inline constexpr KernelFamily windowsFamilies[] = {
    TREADLE_FAMILY(convolutionKernels),       TREADLE_FAMILY(dilationKernels),
    TREADLE_FAMILY(fractionalPoolingKernels), TREADLE_FAMILY(fusedPaddingKernels),
    TREADLE_FAMILY(poolingKernels),           TREADLE_FAMILY(xlaConvolutionKernels)};

} // namespace treadle
