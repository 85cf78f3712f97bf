// Products of matrices: MatMul and Einsum, what is fused with them, and the packed product that
// convolutions share.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Einsum: the operands are copied into the form [batch, free, summed], multiplied as matrices, and
/// the product copied into the order that the equation asks for.
std::span<const KernelEntry> einsumKernels();
/// Matrix products: MatMul, the BatchMatMuls, and _FusedMatMul.
std::span<const KernelEntry> matMulKernels();

/// Activations that graphs spell out, as one op each: _Swish, _GeluExact and the like.
std::span<const KernelEntry> activationOpKernels();

inline constexpr KernelFamily productsFamilies[] = {TREADLE_FAMILY(einsumKernels),
                                                    TREADLE_FAMILY(matMulKernels),
                                                    TREADLE_FAMILY(activationOpKernels)};

} // namespace treadle
