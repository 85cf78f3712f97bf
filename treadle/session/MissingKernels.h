// Internal: ops of a request that no kernel runs.
#pragma once

#include "treadle/graph/GraphImpl.h"
#include "treadle/runtime/Kernel.h"

namespace treadle {

/// The error, and where it is Unimplemented a list of the ops that nothing here runs, if the nodes
/// that `names` need have several such ops: `'A' (2 nodes), 'B' (1 node)`.
Error withMissingKernels(Error error, const ModuleIndex &index, std::vector<std::string> names,
                         const KernelRegistry &kernels);

} // namespace treadle
