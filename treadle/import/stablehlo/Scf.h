// Internal to the folder: loops and conditionals of the scf dialect.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace treadle::hlo {

/// Converts ops of scf to `stablehlo.while`, `if` and `case`, inner ones first. Parallel ops
/// (scf.parallel, scf.forall) become sequential. Ops without effects in the `before` region of an
/// scf.while are computed twice. Emits an error for other ops of scf.
llvm::LogicalResult structureScf(mlir::func::FuncOp function);

/// Loads the dialects that texts with scf, arith, math, tensor, shape and affine need.
void loadStandardDialects(mlir::MLIRContext &context);

} // namespace treadle::hlo
