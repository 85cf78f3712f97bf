// Internal to treadle/object_files: ops that access variables without reading them.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Splits each op that takes a slice or the shape of a variable into a read and an op on the value,
/// since reads of variables that are constants are free.
void separateVariableReads(mlir::ModuleOp module);

} // namespace treadle
