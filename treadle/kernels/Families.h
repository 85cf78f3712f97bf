// The built-in kernels: rooms by subject, in each of them families, each a table beside its
// kernels. The header Families.h of a room says what lives there.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>
#include <vector>

namespace treadle {

/// The tables of all families, as this processor runs them, for those who look at the whole.
std::vector<std::span<const KernelEntry>> kernelFamilies();

/// All built-in kernels. Built at the first call; thread-safe.
const KernelRegistry &builtinKernels();

} // namespace treadle
