// The built-in kernels: rooms by subject, in each of them families, each a table beside its
// kernels. The header Families.h of a room says what lives there.
#pragma once

#include "treadle/runtime/InstructionSet.h"
#include "treadle/runtime/Kernel.h"

#include <span>
#include <string>
#include <vector>

namespace treadle {

/// The tables of all families, as this processor runs them, for those who look at the whole.
std::vector<std::span<const KernelEntry>> kernelFamilies();

// Kernels that call functions, of the rooms `functions` and `datasets`.

/// Functions that are called with each row.
std::span<const FunctionKernelEntry> rowFunctionKernels();
/// Ops whose functions say what to do with two elements: reductions, windows, scatters, sorts, as
/// XLA has them.
std::span<const FunctionKernelEntry> tensorFunctionKernels();
/// Datasets whose functions are called with elements, and what reduces a dataset.
std::span<const FunctionKernelEntry> datasetFunctionKernels();

/// What gives the family of this op, as a processor of that level runs it: the name by which the
/// static library has it (see join_level.py). Empty where no family has the op.
std::string kernelTableSymbol(std::string_view op, InstructionSet level);

/// All built-in kernels. Built at the first call; thread-safe.
const KernelRegistry &builtinKernels();

} // namespace treadle
