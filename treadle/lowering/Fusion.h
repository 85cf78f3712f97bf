// Groups of nodes that one kernel computes in one pass over memory.
#pragma once

#include "treadle/runtime/Graph.h"

namespace treadle {

/// All that follows.
void fuseNodes(GraphSpec &spec);

/// Makes one node of a convolution or a matrix product and of what happens to its result, where
/// nobody else sees what is in between: a bias or a batch normalisation (for inference), products
/// and sums, an activation. The values are those of the nodes apart, but for the rounding of
/// factors and offsets that are applied as one.
void fuseContractions(GraphSpec &spec);

/// Makes one node of what a step of a long short-term memory does with the sums of its four gates:
/// a bias, the gates' split and functions, the next cell and output. Nobody else may see what is in
/// between. The values are those of the nodes apart.
void fuseLstmGates(GraphSpec &spec);

/// Takes nodes without an op out of the graph: they became part of others.
void removeFused(GraphSpec &spec);

} // namespace treadle
