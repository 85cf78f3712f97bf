// Builds the planned chains of loops.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::tfg {

/// Changes the loops whose plans require it and returns their number. Functions with other users
/// are copied first. Invalidates the plans, and the analysis that they are based on.
unsigned buildChains(mlir::ModuleOp module, llvm::MutableArrayRef<LoopOrder> loops);

} // namespace treadle::tfg
