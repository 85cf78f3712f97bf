// Chains of nodes that one kernel computes in one pass over memory.
#pragma once

#include "treadle/runtime/Graph.h"

namespace treadle {

/// Makes one node of a convolution or a matrix product and of what happens to its result, where
/// nobody else sees what is in between: a bias or a batch normalisation (for inference), products
/// and sums, an activation. The values are those of the nodes apart, but for the rounding of
/// factors and offsets that are applied as one.
void fuseContractions(GraphSpec &spec);

} // namespace treadle
