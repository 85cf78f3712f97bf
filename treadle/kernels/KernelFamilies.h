// The tables of all families of kernels, for those who look at the whole.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>
#include <vector>

namespace treadle {

std::vector<std::span<const KernelEntry>> kernelFamilies();

} // namespace treadle
