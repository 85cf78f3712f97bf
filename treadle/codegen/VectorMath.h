// Vector functions of the C library, for loops that LLVM vectorizes.
#pragma once

#include "treadle/codegen/CallFrame.h"
#include "treadle/runtime/InstructionSet.h"

#include "llvm/Analysis/TargetLibraryInfo.h"

#include <vector>

namespace treadle::codegen {

/// Maps scalar functions to vector functions for a processor of this level. Empty if the C library
/// has none.
std::vector<llvm::VecDesc> vectorMathDescriptions(InstructionSet level);

/// Returns their addresses.
std::vector<RuntimeFunction> vectorMathFunctions();

} // namespace treadle::codegen
