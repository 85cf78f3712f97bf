// Ops that compute what others do under another name (the fact `same_as`): oneDNN's build of
// TensorFlow calls Conv2D _MklNativeConv2D or _MklConv2D.
#pragma once

#include "treadle/ops/OpTable.h"

namespace treadle {

/// The op that computes the same; null if there is none. It takes the first inputs and gives the
/// first outputs of `op`: what else there is says how tensors lie in memory.
const OpDef *sameOp(const OpDef &op);

} // namespace treadle
