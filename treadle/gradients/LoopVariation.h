// Which variables of a loop have gradients to carry.
#pragma once

#include "treadle/gradients/Backpropagation.h"

#include "llvm/ADT/BitVector.h"

namespace treadle::tfg {

/// Those that vary with what the gradients are asked of, perhaps only after some iterations, and
/// that a result whose gradient is known depends on. `varying` says which variables vary when the
/// loop begins, `asked` whose results have gradients.
llvm::BitVector activeVariables(const Backpropagation &b, FuncOp body, llvm::BitVector varying,
                                llvm::BitVector asked);

} // namespace treadle::tfg
