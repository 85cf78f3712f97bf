// Ops with windows that slide over images and volumes: convolutions, pooling, dilation, and their
// gradients.
#include "treadle/runtime/Kernel.h"

/// Convolutions of images and volumes, grouped and depthwise, with fused epilogues, and their
/// gradients.
TREADLE_FAMILY(convolutionKernels)
/// Dilation2D: the maximum of sums of an image and a filter under a sliding window (grayscale
/// morphology), and its gradients, which flow to the position of the maximum.
TREADLE_FAMILY(dilationKernels)
/// Pooling by a non-integer ratio: windows of two sizes in a random order (B. Graham, "Fractional
/// max-pooling", 2014), and the gradients.
TREADLE_FAMILY(fractionalPoolingKernels)
/// FusedPadConv2D and FusedResizeAndPadConv2D, which TensorFlow's graph transforms create: mirror
/// padding, possibly of a resized image, and a convolution.
TREADLE_FAMILY(fusedPaddingKernels)
/// Max and average pooling, and their gradients.
TREADLE_FAMILY(poolingKernels)
/// XlaConv: convolutions with dimensions in any order, with dilated inputs and filters, and with
/// feature groups or batch groups.
TREADLE_FAMILY(xlaConvolutionKernels)
