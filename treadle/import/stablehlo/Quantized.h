// Internal to the folder: quantized values, which stand for floats on a grid.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// Values of a type `!quant.uniform<...>` become the integers that store them. Ops of them compute
/// with the floats that they stand for, and round the results to the grid of the result's type.
/// Emits an error at a quantized type of another kind than per tensor or per axis.
llvm::LogicalResult lowerQuantized(mlir::ModuleOp module);

} // namespace treadle::hlo
