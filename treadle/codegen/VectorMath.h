// Functions of the C library over vectors, for loops that LLVM vectorizes.
#pragma once

#include "treadle/codegen/Frame.h"

#include "llvm/Analysis/TargetLibraryInfo.h"

#include <vector>

namespace treadle::codegen {

/// Which scalar function is which vector function. Empty where the C library has none.
const std::vector<llvm::VecDesc> &vectorMathDescriptions();

/// Where they are.
std::vector<RuntimeFunction> vectorMathFunctions();

} // namespace treadle::codegen
