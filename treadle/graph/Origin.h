// Internal: where the program that made a graph defined a node.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// The error, and ` (defined at model.py:31)` where it begins with `node 'x' (Op):` and debug info
/// knows the node. Where functions have nodes of one name and op, all their lines that differ, if
/// they are few.
Error withOrigin(Error error, mlir::ModuleOp module);

} // namespace treadle
