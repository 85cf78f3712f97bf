// Elementwise functions with broadcasting: arithmetic, comparisons, mathematics, activations and
// their gradients, casts.
#include "treadle/runtime/Kernel.h"

/// Activation functions; their gradients are with the other elementwise gradients.
TREADLE_FAMILY(activationKernels)
/// Cast between all pairs of plain dtypes, of quantized ones and of some small numbers, and
/// Bitcast.
TREADLE_FAMILY(castKernels)
/// Sums, differences, products, extremes, and string concatenation.
TREADLE_FAMILY(elementwiseArithmeticKernels)
/// Comparisons and logic.
TREADLE_FAMILY(elementwiseCompareKernels)
/// Quotients and remainders, powers.
TREADLE_FAMILY(elementwiseDivisionKernels)
/// Gradients of elementwise functions: `XGrad(y, dy)` in terms of the function's result, and those
/// of activations in terms of (gradients, features) or (gradients, outputs).
TREADLE_FAMILY(elementwiseGradKernels)
/// Exponentials, logarithms, trigonometric and hyperbolic functions and the like.
TREADLE_FAMILY(elementwiseMathKernels)
/// Select, SelectV2, ClipByValue and AddN: elementwise ops with more than two operands.
TREADLE_FAMILY(elementwiseSelectKernels)
/// Cheap unary functions: signs, rounding, squares and roots, tests, parts of complex numbers,
/// bits.
TREADLE_FAMILY(elementwiseUnaryKernels)
/// Integrals without a closed form: Dawson, exponential, Fresnel and Spence.
TREADLE_FAMILY(integralFunctionKernels)
/// Gamma, beta, Bessel and error functions, by Eigen as in TensorFlow.
TREADLE_FAMILY(specialFunctionKernels)
