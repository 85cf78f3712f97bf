// What functions of scalars compute, as their bodies say: ops such as reductions call them.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// The function of a name; null if there is none.
using FunctionOfName = llvm::function_ref<FuncOp(llvm::StringRef)>;

/// Whether the function, called with tensors of one shape (or of one element), computes for each
/// element what it computes for scalars: all of its nodes are elementwise, and the body states no
/// shape for what depends on the arguments.
bool isElementwise(FuncOp function, FunctionOfName functionOf);

/// Whether the function only returns the second of its two arguments.
bool returnsSecond(FuncOp function, FunctionOfName functionOf);

/// Whether the function of two arguments only adds them, in any order.
bool returnsSum(FuncOp function, FunctionOfName functionOf);

/// What a comparator compares: the same expression of two rows.
struct SortKey {
  mlir::Value value; // in the comparator's body, of either row
  bool isDescending;
};

/// The keys by which a comparator orders rows, strongest first, if it is elementwise, compares one
/// key after another, and does nothing else; else none.
llvm::SmallVector<SortKey> sortKeysOf(FuncOp comparator, FunctionOfName functionOf);

} // namespace treadle::tfg
