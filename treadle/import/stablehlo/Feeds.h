// Internal to the folder: what a program takes from its infeed and puts to its outfeed.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace treadle::hlo {

/// What `infeed` gives and `outfeed` takes in @main itself become arguments and results behind its
/// own, in their order. Those of regions and of other functions stay.
void bindFeeds(mlir::func::FuncOp main);

} // namespace treadle::hlo
