// tfg-deps-to-chains as a function that reports whether it changed anything.
#pragma once

#include "treadle/runtime/Modes.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::tfg {

/// The number of loops that got chains, and of loops that can't get any.
struct ChainedLoops {
  unsigned changed = 0, kept = 0;
};

/// Adds the missing chains to the module's loops, including frames and regions. Doesn't change the
/// module if no loop lacks a chain. With `onlyGaining`, changes only loops that contain a blocking
/// node and can overlap.
ChainedLoops chainLoops(mlir::ModuleOp module, LoopOverlap mode, bool onlyGaining = false);

} // namespace treadle::tfg
