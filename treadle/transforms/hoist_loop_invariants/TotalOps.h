// Total ops: they can't fail, so they may run speculatively.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// Returns whether the node, with a pure op, can't fail for any inputs of its types.
bool isTotal(Node node);

} // namespace treadle::tfg
