// Functions of single elements, with broadcasting: arithmetic, comparisons, mathematics,
// activations and their gradients, casts.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Activation functions; their gradients are with the other elementwise gradients.
std::span<const KernelEntry> activationKernels();
/// Cast between all pairs of plain dtypes, quantized ones and some of small numbers, and Bitcast.
std::span<const KernelEntry> castKernels();
/// Sums, differences, products, extremes, and the string sum.
std::span<const KernelEntry> elementwiseArithmeticKernels();
/// Comparisons and logic.
std::span<const KernelEntry> elementwiseCompareKernels();
/// Quotients and remainders, powers.
std::span<const KernelEntry> elementwiseDivisionKernels();
/// Gradients of elementwise functions: `XGrad(y, dy)` in terms of the function's result, and those
/// of the activations, in terms of (gradients, features) or (gradients, outputs).
std::span<const KernelEntry> elementwiseGradKernels();
/// Exponentials, logarithms, trigonometric and hyperbolic functions and their kin.
std::span<const KernelEntry> elementwiseMathKernels();
/// Select, SelectV2, ClipByValue and AddN: elementwise over more than two operands.
std::span<const KernelEntry> elementwiseSelectKernels();
/// Cheap functions of one operand: signs, rounding, squares and roots, tests, parts of complex
/// numbers, bits.
std::span<const KernelEntry> elementwiseUnaryKernels();
/// Integrals that have no closed form: Dawson's, the exponential one, Fresnel's and Spence's.
std::span<const KernelEntry> integralFunctionKernels();
/// Gamma, beta, Bessel and error functions: Eigen's, which TensorFlow's results come from too.
std::span<const KernelEntry> specialFunctionKernels();

inline constexpr KernelFamily elementwiseFamilies[] = {TREADLE_FAMILY(activationKernels),
                                                       TREADLE_FAMILY(castKernels),
                                                       TREADLE_FAMILY(elementwiseArithmeticKernels),
                                                       TREADLE_FAMILY(elementwiseCompareKernels),
                                                       TREADLE_FAMILY(elementwiseDivisionKernels),
                                                       TREADLE_FAMILY(elementwiseGradKernels),
                                                       TREADLE_FAMILY(elementwiseMathKernels),
                                                       TREADLE_FAMILY(elementwiseSelectKernels),
                                                       TREADLE_FAMILY(elementwiseUnaryKernels),
                                                       TREADLE_FAMILY(integralFunctionKernels),
                                                       TREADLE_FAMILY(specialFunctionKernels)};

} // namespace treadle
