// Variables that passes give a While loop beside its own.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Adds a data argument, and its token, after the others. `name` is in use by nobody.
mlir::BlockArgument appendArgument(FuncOp function, llvm::StringRef name, mlir::Type type);

/// Adds a data result after the others; where its name is taken it gets underscores.
void appendResult(FuncOp function, std::string name, mlir::Value value);

/// Another node in the place of this While, with more variables after the others. What used its
/// results uses the new ones'; attributes that list types and shapes follow.
Node withVariables(Node loop, mlir::ValueRange values);

} // namespace treadle::tfg
