// Aliases of ops under other names (the fact `same_as`): TensorFlow's oneDNN build calls Conv2D
// _MklNativeConv2D or _MklConv2D.
#pragma once

#include "treadle/ops/OpTable.h"

namespace treadle {

/// Returns the op that `op` is an alias of, or null. It takes the first inputs and returns the
/// first outputs of `op`; the others describe memory layouts.
const OpDef *aliasedOp(const OpDef &op);

} // namespace treadle
