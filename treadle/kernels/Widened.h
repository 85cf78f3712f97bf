// Kernels of floats for numbers of half the size: computed in floats, rounded once.
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// What `bind` binds. Where the node's first output is of float16 or bfloat16, all of these are
/// floats to the kernel.
Expected<BoundKernel> bindWidened(BindFn bind, const BindContext &node);

/// The same as a row of a table has it.
template <BindFn bind> Expected<BoundKernel> bindAlsoHalves(const BindContext &node) {
  return bindWidened(bind, node);
}

} // namespace treadle
