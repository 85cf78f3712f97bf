// The cost and the form of loops over elements.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace treadle::codegen {

/// Estimated time of an element in picoseconds, for vectorized code. A branch costs as much as its
/// longer side.
int64_t costOf(mlir::linalg::GenericOp op);
int64_t costOf(mlir::Block &body);

/// Whether all operands are accessed element by element in memory order.
bool isFlat(mlir::linalg::GenericOp op);

} // namespace treadle::codegen
