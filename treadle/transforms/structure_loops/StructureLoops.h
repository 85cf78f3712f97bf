// Raising of v1 loops to loops with regions, which run without frames.
#pragma once

#include "treadle/lowering/PrunedSubgraph.h"

namespace treadle::tfg {

/// Converts all loops of the subgraph that can be converted, innermost first. `functions`
/// determines which calls may block.
void structureLoops(PrunedSubgraph &part, FunctionLibrary &functions);

} // namespace treadle::tfg
