// Values that a loop needs in every iteration, but that come in once.
#pragma once

#include "treadle/dialect/TfExecutor.h"

namespace treadle::graphdef {

/// On an Enter that findForgottenConstants would give, but that isn't meant to be constant.
inline constexpr llvm::StringLiteral notConstantKey = "_mlir_not_constant";

/// Enters that aren't constant although the predicate of their loop needs them in every iteration:
/// no second iteration could decide whether to go on, and nothing would ever leave the loop. Such
/// programs are written by hand by those who take an invariant for granted.
llvm::SmallVector<tf_executor::EnterOp> findForgottenConstants(tf_executor::GraphOp graph);

} // namespace treadle::graphdef
