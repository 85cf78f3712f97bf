// Products of matrices: MatMul and Einsum, what is fused with them, and the packed product that
// convolutions share.
#include "treadle/runtime/Kernel.h"

/// Einsum: the operands are copied into the form [batch, free, summed], multiplied as matrices, and
/// the product copied into the order that the equation asks for.
TREADLE_FAMILY(einsumKernels)
/// Matrix products: MatMul, the BatchMatMuls, and _FusedMatMul.
TREADLE_FAMILY(matMulKernels)

/// Activations that graphs spell out, as one op each: _Swish, _GeluExact and the like.
TREADLE_FAMILY(activationOpKernels)
