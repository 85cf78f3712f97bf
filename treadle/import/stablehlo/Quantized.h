// Quantized values, which represent floats on a grid.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace treadle::hlo {

/// The parameters of a type `!quant.uniform<i8<-127:127>:f32:1, {0.1:-30, 0.5}>`.
struct QuantizationGrid {
  mlir::IntegerType storage;
  mlir::FloatType expressed;
  int64_t least = 0, most = 0;
  std::optional<int64_t> axis;
  llvm::SmallVector<double> scales;
  llvm::SmallVector<int64_t> zeros;
};

/// Returns false if a type `!quant...` has another form.
bool parseQuantizedType(mlir::OpaqueType type, QuantizationGrid &grid);

/// Lowers values of type `!quant.uniform<...>` to their stored integers. Ops compute with the
/// represented floats and round results to the grid of the result's type. Emits an error for
/// quantization that is neither per tensor nor per axis.
llvm::LogicalResult lowerQuantized(mlir::ModuleOp module);

} // namespace treadle::hlo
