// Internal: adds source locations of nodes to errors.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Returns the error, with ` (defined at model.py:31)` appended if it begins with `node 'x' (Op):`
/// and the debug info has the node. If several functions have such a node, all distinct locations
/// are added if there are few.
Error withOrigin(Error error, mlir::ModuleOp module);

} // namespace treadle
