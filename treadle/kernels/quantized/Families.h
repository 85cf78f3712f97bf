// Quantized ops: quantization, dequantization, and arithmetic on quantized integers.
#include "treadle/runtime/Kernel.h"

/// Fake quantization: floats rounded to the values that an integer of a few bits can represent in a
/// range, and the gradients. The range is given by attributes, by inputs, or by inputs per channel.
TREADLE_FAMILY(fakeQuantizationKernels)
/// Quantization to quantized dtypes and dequantization, with one range for all or one per slice.
TREADLE_FAMILY(quantizeKernels)
/// QuantizeAndDequantize: floats rounded to the values that integers can represent in a range
/// around zero, and the gradient.
TREADLE_FAMILY(quantizeAndDequantizeKernels)
/// Sums, products and convolutions of quantized tensors.
TREADLE_FAMILY(quantizedMathKernels)
/// Convolutions and products of bytes as oneDNN computes them, with a bias, an activation and
/// requantization.
TREADLE_FAMILY(fusedQuantizedKernels)
/// Requantization, and ops that change the shape of quantized tensors: concatenation, reshape,
/// relu, pooling.
TREADLE_FAMILY(requantizeKernels)
/// Elementwise Uniform ops of TensorFlow, whose integers have a scale and a zero point instead of a
/// range.
TREADLE_FAMILY(uniformQuantizationKernels)
/// Products and convolutions of the Uniform ops.
TREADLE_FAMILY(uniformProductKernels)
