// The built-in kernels: rooms by subject, in each of them families, each a table beside its
// kernels. The header Families.h of a room says what lives there.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// All built-in kernels. Built at the first call; thread-safe.
const KernelRegistry &builtinKernels();

} // namespace treadle
