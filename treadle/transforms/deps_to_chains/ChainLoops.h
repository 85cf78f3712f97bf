// tfg-deps-to-chains for those who must know whether it changed something.
#pragma once

#include "treadle/runtime/Modes.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::tfg {

/// How many loops got chains, and how many have to stay as they are.
struct ChainedLoops {
  unsigned changed = 0, kept = 0;
};

/// Gives the module's loops the chains that they lack, frames and regions too. If no loop lacks
/// one, the module stays as it is. `onlyGaining`: only loops that something waits in and that
/// overlap then.
ChainedLoops chainLoops(mlir::ModuleOp module, LoopOverlap mode, bool onlyGaining = false);

} // namespace treadle::tfg
