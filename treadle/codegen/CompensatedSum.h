// Compensated sums of floats, which track rounding errors: as exact as if computed in twice the
// precision.
#pragma once

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// A sum and its accumulated rounding error.
struct CompensatedSum {
  mlir::Value sum, lost;

  operator llvm::SmallVector<mlir::Value>() const { return {sum, lost}; }
};

/// Adds a number to the sum (Knuth's TwoSum).
CompensatedSum compensatedSum(mlir::OpBuilder &b, mlir::Location loc, CompensatedSum before,
                              mlir::Value added);

/// Returns the sum rounded to one number.
mlir::Value roundedSum(mlir::OpBuilder &b, mlir::Location loc, CompensatedSum sum);

} // namespace treadle::codegen
