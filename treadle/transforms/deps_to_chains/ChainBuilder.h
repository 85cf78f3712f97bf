// Gives loops the chains that were planned for them.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::tfg {

/// Changes the loops that need it; gives how many. A function that others use as well is copied.
/// The plans are of no use afterwards, nor is the analysis that they are from.
unsigned buildChains(mlir::ModuleOp module, llvm::MutableArrayRef<LoopOrder> loops);

} // namespace treadle::tfg
