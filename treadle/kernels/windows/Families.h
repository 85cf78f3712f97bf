// Windows that slide over images and volumes: convolutions, pooling, dilation, and their gradients.
#include "treadle/runtime/Kernel.h"

/// Convolutions of images and volumes, in groups and depthwise, with what is fused with them, and
/// their gradients.
TREADLE_FAMILY(convolutionKernels)
/// Dilation2D: the maximum of sums of an image and a filter under a sliding window (grey-scale
/// morphology), and its gradients, which go to where the maximum is.
TREADLE_FAMILY(dilationKernels)
/// Pooling by a ratio that is no whole number: windows of two sizes in a random order (B. Graham,
/// "Fractional max-pooling", 2014), and the gradients.
TREADLE_FAMILY(fractionalPoolingKernels)
/// FusedPadConv2D and FusedResizeAndPadConv2D, which TensorFlow's graph transforms made: a mirrored
/// border, perhaps of a resized image, and a convolution.
TREADLE_FAMILY(fusedPaddingKernels)
/// Maxima and means under a sliding window, and their gradients.
TREADLE_FAMILY(poolingKernels)
/// XlaConv: convolutions whose dimensions come in any order, with holes in input and filter, in
/// groups of the features or of the batch.
TREADLE_FAMILY(xlaConvolutionKernels)
