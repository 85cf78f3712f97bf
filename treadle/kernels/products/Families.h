// Matrix products: MatMul and Einsum, their fused ops, and the packed product that convolutions
// share.
#include "treadle/runtime/Kernel.h"

/// Einsum: copies the operands to the form [batch, free, summed], multiplies them as matrices, and
/// copies the product to the order of the equation.
TREADLE_FAMILY(einsumKernels)
/// Matrix products: MatMul, the BatchMatMuls, and _FusedMatMul.
TREADLE_FAMILY(matMulKernels)

/// Fused activations, one op each: _Swish, _GeluExact and the like.
TREADLE_FAMILY(activationOpKernels)
