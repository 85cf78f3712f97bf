// Internal to the folder: types of fewer bits than there are kernels for.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// That in which integers of 2 and 4 bits, and floats of 4, 6 and 8 bits, are computed; null for
/// other types.
mlir::Type wideTypeOf(mlir::Type element);

/// Values of narrow types become values of their wide types that narrow ones can have. What is
/// computed is rounded, or wrapped, after each op: by a `convert` whose attribute `narrow` is the
/// type. Arguments and results of `main` keep their types.
llvm::LogicalResult widenNarrowTypes(mlir::ModuleOp module, mlir::func::FuncOp main);

} // namespace treadle::hlo
