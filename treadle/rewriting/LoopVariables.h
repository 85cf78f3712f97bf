// Adding loop variables to While nodes.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Appends a data argument and its token. `name` must be unused.
mlir::BlockArgument appendArgument(FuncOp function, llvm::StringRef name, mlir::Type type);

/// Appends a data result; appends underscores to its name if that is taken.
void appendResult(FuncOp function, std::string name, mlir::Value value);

/// Replaces this While with one that has additional variables after the others. Uses of its results
/// are updated, and so are attributes that list types and shapes.
Node withVariables(Node loop, mlir::ValueRange values);

} // namespace treadle::tfg
