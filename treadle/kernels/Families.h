// The tables of the kernel families, one function a family, each defined beside its kernels.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

// One line a family: std::span<const KernelEntry> xyzKernels();

/// All built-in kernels. Built at the first call; thread-safe.
const KernelRegistry &builtinKernels();

} // namespace treadle
