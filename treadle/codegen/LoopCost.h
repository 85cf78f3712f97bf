// The cost and the form of loops over elements.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace treadle::codegen {

/// Estimated time of an element in picoseconds, for vectorized code. A branch costs as much as its
/// longer side.
int64_t costOf(mlir::linalg::GenericOp op);
int64_t costOf(mlir::Block &body);

/// Returns the trip count of the body of a linalg op, of an op that writes tensors, or of a loop
/// that starts at 0; nullopt if it isn't known.
std::optional<int64_t> tripCountOf(mlir::Operation *op);

/// Whether all operands are accessed element by element in memory order.
bool isFlat(mlir::linalg::GenericOp op);

} // namespace treadle::codegen
