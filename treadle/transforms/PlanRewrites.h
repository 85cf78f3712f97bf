// The rewrites that pay in runs alone.
#pragma once

#include "treadle/lowering/NeededPart.h"
#include "treadle/runtime/Modes.h"

namespace treadle {

/// What happens to a part before it becomes a plan: nodes become the ones that one kernel computes
/// (if `fuses`), and v1 loops structured ones, unless all their iterations are to overlap.
Rewrite planRewrites(bool fuses, LoopOverlap overlap);

} // namespace treadle
