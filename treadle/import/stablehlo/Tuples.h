// Internal to the folder: removes tuples.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// Replaces each tuple by its tensors: in arguments and results of functions, loops, conditionals
/// and calls; removes `tuple` and `get_tuple_element`. Emits an error if a tuple lacks a requested
/// element, or a branch forwards a tuple.
llvm::LogicalResult flattenTuples(mlir::ModuleOp module);

} // namespace treadle::hlo
