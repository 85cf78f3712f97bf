// Analysis of functions of scalars that ops such as reductions call.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Returns the function with a name; null if there is none.
using FunctionOfName = llvm::function_ref<FuncOp(llvm::StringRef)>;

/// Returns whether the function, called with tensors of equal shapes (or of one element), computes
/// for each element what it computes for scalars: all of its nodes are elementwise, and it fixes no
/// shape of a value that depends on its arguments.
bool isElementwise(FuncOp function, FunctionOfName functionOf);

/// Returns whether the function only returns the second of its two arguments.
bool returnsSecond(FuncOp function, FunctionOfName functionOf);

/// Returns the elementwise form ("add") by which a function combines its two arguments; empty if it
/// does anything else.
llvm::StringRef combinationOf(FuncOp function, FunctionOfName functionOf);

/// How a reduction finds the position of an extreme.
struct ExtremePosition {
  bool isGreatest = false;
  bool prefersNan = false; // the first NaN, if there is one
};

/// Returns which extreme a function picks that reduces pairs of a value and its position, and of
/// equal values the one with the smaller position; nullopt if it does anything else.
std::optional<ExtremePosition> extremePositionOf(FuncOp function, FunctionOfName functionOf);

/// A sort key of a comparator: the same expression of two rows.
struct SortKey {
  mlir::Value value; // in the comparator's body, of either row
  bool isDescending;
};

/// Returns the keys by which a comparator orders rows, most significant first. Empty unless it is
/// elementwise, compares one key after the other, and does nothing else.
llvm::SmallVector<SortKey> sortKeysOf(FuncOp comparator, FunctionOfName functionOf);

} // namespace treadle::tfg
