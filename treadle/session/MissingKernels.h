// Internal: reports ops of a request that have no kernel.
#pragma once

#include "treadle/graph/GraphImpl.h"
#include "treadle/runtime/Kernel.h"

namespace treadle {

/// Returns the error. If it is Unimplemented and the nodes that `names` need have several ops
/// without a kernel, adds a list of these: `'A' (2 nodes), 'B' (1 node)`.
Error withMissingKernels(Error error, const ModuleIndex &index, std::vector<std::string> names,
                         const KernelRegistry &kernels);

} // namespace treadle
