// Loops of v1 control flow made loops with regions, which need no frames to run.
#pragma once

#include "treadle/lowering/NeededPart.h"

namespace treadle::tfg {

/// Of all of the part's loops that can, the inner ones first. `functions` says who may block.
void structureLoops(NeededPart &part, FunctionLibrary &functions);

} // namespace treadle::tfg
