// The source locations at which a program defined the graph's nodes, as MLIR locations:
// callsite("node@function" at callsite("inner"("model.py":3:0) at "outer"("model.py":6:0))).
#pragma once

#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace treadle {

/// Returns one stack frame: the function `name` (may be empty) at a file location.
mlir::Location stackFrame(mlir::FileLineColLoc place, mlir::StringAttr function);

/// Returns a node's location. `key` is `node@function`, its key in debug info; frames are innermost
/// first, at least one.
mlir::Location definedAt(mlir::StringAttr key, llvm::ArrayRef<mlir::Location> frames);

/// Returns the key of a location that definedAt built; empty for others.
llvm::StringRef definitionKey(mlir::Location location);

/// Returns the stack of a location without node names; nullopt if it has none.
std::optional<mlir::Location> stackOf(mlir::Location location);

/// Returns `model.py:31`: the innermost frame outside of library files, or the innermost frame if
/// there is none. Empty if the location has no stack; the location of parsed MLIR text doesn't
/// count.
std::string sourceLine(mlir::Location location);

} // namespace treadle
