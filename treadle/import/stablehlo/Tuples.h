// Internal to the folder: tuples, which have no value of their own.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// Every value that is a tuple becomes one value for each tensor in it: of functions' arguments and
/// results, of loops, conditionals and calls; `tuple` and `get_tuple_element` vanish. Emits an
/// error where an element is asked for that a tuple hasn't, or a branch hands on a tuple.
llvm::LogicalResult flattenTuples(mlir::ModuleOp module);

} // namespace treadle::hlo
