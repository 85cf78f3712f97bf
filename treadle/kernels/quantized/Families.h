// Integers that stand for floats: to and from them, and arithmetic on them.
#include "treadle/runtime/Kernel.h"

/// Floats rounded to what an integer of a few bits could say of a range, and the gradients of that:
/// by attributes, by inputs, or by inputs for each channel.
TREADLE_FAMILY(fakeQuantizationKernels)
/// Floats to integers of quantized dtypes and back, with one range for all or one for each slice.
TREADLE_FAMILY(quantizeKernels)
/// Floats rounded to what integers of some bits could say of a range around zero, and the gradient
/// of that.
TREADLE_FAMILY(quantizeAndDequantizeKernels)
/// Sums, products and convolutions of quantized tensors.
TREADLE_FAMILY(quantizedMathKernels)
/// Convolutions and products of bytes as oneDNN computes them, with a bias, an activation and a new
/// range.
TREADLE_FAMILY(fusedQuantizedKernels)
/// Quantized tensors whose range changes or whose shape does: requantization, joining, reshaping,
/// rectifying, pooling.
TREADLE_FAMILY(requantizeKernels)
/// TensorFlow's Uniform ops, whose integers have a scale and a zero point instead of a range: of
/// single elements,
TREADLE_FAMILY(uniformQuantizationKernels)
/// and products and convolutions.
TREADLE_FAMILY(uniformProductKernels)
