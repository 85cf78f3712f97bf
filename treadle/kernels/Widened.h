// 16-bit floats for kernels of float32: computed in float32, rounded once.
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// Binds with `bind`. If the node's first output is float16 or bfloat16, the kernel sees all inputs
/// and outputs of that dtype as float32.
Expected<BoundKernel> bindWidened(BindFn bind, const BindContext &node);

/// Like `bindWidened`, but as an entry of a kernel table.
template <BindFn bind> Expected<BoundKernel> bindWithHalfFloats(const BindContext &node) {
  return bindWidened(bind, node);
}

} // namespace treadle
