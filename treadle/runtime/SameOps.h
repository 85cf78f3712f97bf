// Kernels of ops that compute what others do under another name (the fact `same_as`).
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// Gives each such op without a kernel the one of the op that it is the same as.
void addSameOps(KernelRegistry &kernels);

} // namespace treadle
