// Functions of the C library over vectors, for loops that LLVM vectorizes.
#pragma once

#include "treadle/codegen/Frame.h"
#include "treadle/runtime/InstructionSet.h"

#include "llvm/Analysis/TargetLibraryInfo.h"

#include <vector>

namespace treadle::codegen {

/// Which scalar function is which vector function, for a processor of this level. Empty where the C
/// library has none.
std::vector<llvm::VecDesc> vectorMathDescriptions(InstructionSet level);

/// Where they are.
std::vector<RuntimeFunction> vectorMathFunctions();

} // namespace treadle::codegen
