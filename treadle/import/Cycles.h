// Cycles in a graph: loops may have them, nothing else.
#pragma once

#include "treadle/import/OpSignatures.h"

namespace treadle::graphdef {

/// InvalidArgument, with the nodes in question, if there is a cycle without an edge from a
/// NextIteration to a Merge. Linear.
Expected<void> checkCycles(mlir::Block &block, OpSignatures &signatures);

} // namespace treadle::graphdef
