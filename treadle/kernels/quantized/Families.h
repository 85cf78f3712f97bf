// Integers that stand for floats: to and from them, and arithmetic on them.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Floats rounded to what an integer of a few bits could say of a range, and the gradients of that:
/// by attributes, by inputs, or by inputs for each channel.
std::span<const KernelEntry> fakeQuantizationKernels();
/// Floats to integers of quantized dtypes and back, with one range for all or one for each slice.
std::span<const KernelEntry> quantizeKernels();
/// Floats rounded to what integers of some bits could say of a range around zero, and the gradient
/// of that.
std::span<const KernelEntry> quantizeAndDequantizeKernels();
/// Sums, products and convolutions of quantized tensors.
std::span<const KernelEntry> quantizedMathKernels();
/// Convolutions and products of bytes as oneDNN computes them, with a bias, an activation and a new
/// range.
std::span<const KernelEntry> fusedQuantizedKernels();
/// Quantized tensors whose range changes or whose shape does: requantization, joining, reshaping,
/// rectifying, pooling.
std::span<const KernelEntry> requantizeKernels();
/// TensorFlow's Uniform ops, whose integers have a scale and a zero point instead of a range: of
/// single elements,
std::span<const KernelEntry> uniformQuantizationKernels();
/// and products and convolutions.
std::span<const KernelEntry> uniformProductKernels();

inline constexpr KernelFamily quantizedFamilies[] = {
    TREADLE_FAMILY(fakeQuantizationKernels),      TREADLE_FAMILY(quantizeKernels),
    TREADLE_FAMILY(quantizeAndDequantizeKernels), TREADLE_FAMILY(quantizedMathKernels),
    TREADLE_FAMILY(fusedQuantizedKernels),        TREADLE_FAMILY(requantizeKernels),
    TREADLE_FAMILY(uniformQuantizationKernels),   TREADLE_FAMILY(uniformProductKernels)};

} // namespace treadle
