// Determines which variables of a loop carry gradients.
#pragma once

#include "treadle/gradients/Backpropagation.h"

#include "llvm/ADT/BitVector.h"

namespace treadle::tfg {

/// Returns the variables that depend on an x, possibly only after some iterations, and that a
/// result with a known gradient depends on. `varying` states which variables vary when the loop
/// begins, `requested` which results have gradients.
llvm::BitVector activeVariables(const Backpropagation &b, FuncOp body, llvm::BitVector varying,
                                llvm::BitVector requested);

} // namespace treadle::tfg
