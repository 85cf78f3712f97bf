// The built-in kernels: families, each a table beside its kernels. Families.cpp lists them.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// All built-in kernels. Built at the first call; thread-safe.
const KernelRegistry &builtinKernels();

} // namespace treadle
