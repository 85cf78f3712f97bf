// Functions of single elements, with broadcasting: arithmetic, comparisons, mathematics,
// activations and their gradients, casts.
#include "treadle/runtime/Kernel.h"

/// Activation functions; their gradients are with the other elementwise gradients.
TREADLE_FAMILY(activationKernels)
/// Cast between all pairs of plain dtypes, quantized ones and some of small numbers, and Bitcast.
TREADLE_FAMILY(castKernels)
/// Sums, differences, products, extremes, and the string sum.
TREADLE_FAMILY(elementwiseArithmeticKernels)
/// Comparisons and logic.
TREADLE_FAMILY(elementwiseCompareKernels)
/// Quotients and remainders, powers.
TREADLE_FAMILY(elementwiseDivisionKernels)
/// Gradients of elementwise functions: `XGrad(y, dy)` in terms of the function's result, and those
/// of the activations, in terms of (gradients, features) or (gradients, outputs).
TREADLE_FAMILY(elementwiseGradKernels)
/// Exponentials, logarithms, trigonometric and hyperbolic functions and their kin.
TREADLE_FAMILY(elementwiseMathKernels)
/// Select, SelectV2, ClipByValue and AddN: elementwise over more than two operands.
TREADLE_FAMILY(elementwiseSelectKernels)
/// Cheap functions of one operand: signs, rounding, squares and roots, tests, parts of complex
/// numbers, bits.
TREADLE_FAMILY(elementwiseUnaryKernels)
/// Integrals that have no closed form: Dawson's, the exponential one, Fresnel's and Spence's.
TREADLE_FAMILY(integralFunctionKernels)
/// Gamma, beta, Bessel and error functions: Eigen's, which TensorFlow's results come from too.
TREADLE_FAMILY(specialFunctionKernels)
