// Internal to the folder: branches between blocks as loops and conditionals.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace treadle::hlo {

/// A function whose blocks end in `cf.br`, `cf.cond_br` and `cf.switch` becomes one block with
/// `stablehlo.while`, `if` and `case`. Any flow, loops with several entries included. Nothing
/// happens to a function of one block. Emits an error where a terminator is of another kind.
llvm::LogicalResult structure(mlir::func::FuncOp function);

/// Loads what the text of branches needs.
void loadBranches(mlir::MLIRContext &context);

} // namespace treadle::hlo
