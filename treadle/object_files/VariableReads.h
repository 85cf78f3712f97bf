// Internal to the session folder: ops that look at variables in other ways than reading them.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Makes a read, and an op on what was read, of each op that takes a part or the shape of a
/// variable: where variables are constants, a read costs nothing.
void separateVariableReads(mlir::ModuleOp module);

} // namespace treadle
