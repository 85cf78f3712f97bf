// Which of several implementations of one interface a call runs.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Whether the module calls a function whose interface has an implementation for the CPU, and that
/// function isn't it: tfg-select-implementations would change the call.
bool callsOtherImplementations(mlir::ModuleOp module);

} // namespace treadle::tfg
