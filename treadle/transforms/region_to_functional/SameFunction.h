// Comparison of a function with one that was outlined from a region.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Returns whether both functions are equal node by node, in order: ops, names, attributes, types,
/// edges, and the functions' own attributes except their names. Doesn't compare attributes of
/// arguments, which a region may not have, names of control results, and shapes in the signature.
bool isSameFunction(FuncOp left, FuncOp right);

} // namespace treadle::tfg
