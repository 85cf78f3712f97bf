// Kernels of ops that are aliases of other ops (the fact `same_as`).
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

/// Registers, for each alias without a kernel, the kernel of the op that it is an alias of.
void addOpAliases(KernelRegistry &kernels);

} // namespace treadle
