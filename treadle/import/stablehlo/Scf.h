// Internal to the folder: loops and conditionals of the dialect scf.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace treadle::hlo {

/// Ops of scf become `stablehlo.while`, `if` and `case`, inner ones first. Those that divide their
/// work (scf.parallel, scf.forall) do it one part after another. Ops without effects in the
/// `before` region of an scf.while are computed twice. Emits an error at an op of scf of another
/// kind.
llvm::LogicalResult structureScf(mlir::func::FuncOp function);

/// Loads what the text of programs of scf, arith, math, tensor, shape and affine needs.
void loadStandardDialects(mlir::MLIRContext &context);

} // namespace treadle::hlo
