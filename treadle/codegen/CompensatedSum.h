// Sums of floats with what their additions round away: as exact as if they had twice the digits.
#pragma once

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// A sum, and what was lost of it.
struct CompensatedSum {
  mlir::Value sum, lost;

  operator llvm::SmallVector<mlir::Value>() const { return {sum, lost}; }
};

/// The sum with one more number (Knuth's TwoSum).
CompensatedSum compensatedSum(mlir::OpBuilder &b, mlir::Location loc, CompensatedSum before,
                              mlir::Value added);

/// The sum as one number.
mlir::Value roundedSum(mlir::OpBuilder &b, mlir::Location loc, CompensatedSum sum);

} // namespace treadle::codegen
