// Where the program that made a graph defined its nodes, as MLIR locations:
// callsite("node@function" at callsite("inner"("model.py":3:0) at "outer"("model.py":6:0))).
#pragma once

#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace treadle {

/// One frame of a stack: the function `name` (may be empty) at a place in a file.
mlir::Location stackFrame(mlir::FileLineColLoc place, mlir::StringAttr function);

/// A node's location. `key` is `node@function`, what debug info knows it by; frames are innermost
/// first, at least one.
mlir::Location definedAt(mlir::StringAttr key, llvm::ArrayRef<mlir::Location> frames);

/// The key in a location that definedAt made, empty in others.
llvm::StringRef definitionKey(mlir::Location location);

/// The stack in a location without the names of nodes; nothing if it has none.
std::optional<mlir::Location> stackOf(mlir::Location location);

/// `model.py:31`: the innermost frame that isn't in a library's file, or the innermost of all.
/// Empty if the location has no stack: locations in MLIR text alone are none.
std::string sourceLine(mlir::Location location);

} // namespace treadle
