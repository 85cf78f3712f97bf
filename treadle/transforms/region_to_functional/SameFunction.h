// Whether a function says the same as one that was made of a region.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Equal node by node, in order: ops, names, attributes, types, edges, and the functions' own
/// attributes but for the name. Not compared: attributes of arguments, which a region may not have,
/// names of control results, and shapes in the signature.
bool isSameFunction(FuncOp left, FuncOp right);

} // namespace treadle::tfg
