// Selection among several implementations of one interface.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Returns whether tfg-select-implementations would change a call: the module calls a function
/// whose interface has an implementation for the CPU, but not that one.
bool callsOtherImplementations(mlir::ModuleOp module);

} // namespace treadle::tfg
