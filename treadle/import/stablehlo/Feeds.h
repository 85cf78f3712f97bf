// Internal to the folder: infeed and outfeed of a program.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace treadle::hlo {

/// Converts the `infeed` and `outfeed` ops directly in @main to arguments and results after its
/// own, in order. Those in regions and other functions are unchanged.
void bindFeeds(mlir::func::FuncOp main);

} // namespace treadle::hlo
