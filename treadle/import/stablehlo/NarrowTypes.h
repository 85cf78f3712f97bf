// Internal to the folder: types that are narrower than those with kernels.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// Returns the type in which integers of 2 and 4 bits, and floats of 4, 6 and 8 bits, are computed;
/// null for other types.
mlir::Type wideTypeOf(mlir::Type element);

/// Widens values of narrow types. Results are rounded or wrapped after each op to values that the
/// narrow type has, by a `convert` with the narrow type in its attribute `narrow`. Arguments and
/// results of `main` keep their types.
llvm::LogicalResult widenNarrowTypes(mlir::ModuleOp module, mlir::func::FuncOp main);

} // namespace treadle::hlo
