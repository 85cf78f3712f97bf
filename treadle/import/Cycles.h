// Checks that a graph has no cycles other than loops.
#pragma once

#include "treadle/import/OpSignatures.h"

namespace treadle::graphdef {

/// InvalidArgument, with the nodes in question, if there is a cycle without an edge from a
/// NextIteration to a Merge. Linear time.
Expected<void> checkCycles(mlir::Block &block, OpSignatures &signatures);

} // namespace treadle::graphdef
