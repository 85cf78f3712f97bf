// Internal to the folder: converts branches between blocks to loops and conditionals.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace treadle::hlo {

/// Converts a function whose blocks end in `cf.br`, `cf.cond_br` and `cf.switch` to one block with
/// `stablehlo.while`, `if` and `case`. Supports any control flow, including irreducible loops. A
/// function of one block is unchanged. Emits an error for other terminators.
llvm::LogicalResult structure(mlir::func::FuncOp function);

/// Loads the dialects that texts with branches need.
void loadBranches(mlir::MLIRContext &context);

} // namespace treadle::hlo
