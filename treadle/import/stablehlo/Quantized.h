// Quantized values, which stand for floats on a grid.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace treadle::hlo {

/// What the text of a type `!quant.uniform<i8<-127:127>:f32:1, {0.1:-30, 0.5}>` says.
struct Grid {
  mlir::IntegerType storage;
  mlir::FloatType expressed;
  int64_t least = 0, most = 0;
  std::optional<int64_t> axis;
  llvm::SmallVector<double> scales;
  llvm::SmallVector<int64_t> zeros;
};

/// False where a type `!quant...` is of another form.
bool readGrid(mlir::OpaqueType type, Grid &grid);

/// Values of a type `!quant.uniform<...>` become the integers that store them. Ops of them compute
/// with the floats that they stand for, and round the results to the grid of the result's type.
/// Emits an error at a quantized type of another kind than per tensor or per axis.
llvm::LogicalResult lowerQuantized(mlir::ModuleOp module);

} // namespace treadle::hlo
