// Finds loop invariants that enter a frame only in its first iteration.
#pragma once

#include "treadle/dialect/TfExecutor.h"

namespace treadle::graphdef {

/// On an Enter that findNonconstantInvariants would return but that is intentionally not constant.
inline constexpr llvm::StringLiteral notConstantKey = "_mlir_not_constant";

/// Returns Enters that aren't constant although the predicate of their loop needs them in every
/// iteration: the second iteration couldn't compute the predicate, so nothing would ever leave the
/// loop. Hand-written programs contain such loops.
llvm::SmallVector<tf_executor::EnterOp> findNonconstantInvariants(tf_executor::GraphOp graph);

} // namespace treadle::graphdef
