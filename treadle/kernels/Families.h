// The built-in kernels: one folder per subject, with one kernel table per family beside its
// kernels. The header Families.h of a folder lists its tables.
#pragma once

#include "treadle/runtime/InstructionSet.h"
#include "treadle/runtime/Kernel.h"

#include <span>
#include <string>
#include <vector>

namespace treadle {

/// Returns the tables of all kernels, in the versions for this processor.
std::vector<std::span<const KernelEntry>> kernelFamilies();

// Kernels that call functions, in the folders `functions` and `datasets`.

/// Ops that call their function once per row.
std::span<const FunctionKernelEntry> rowFunctionKernels();
/// Ops whose functions combine two elements: XLA's reductions, windows, scatters and sorts.
std::span<const FunctionKernelEntry> tensorFunctionKernels();
/// Datasets that call functions with their elements, and ops that reduce a dataset.
std::span<const FunctionKernelEntry> datasetFunctionKernels();

/// Returns the symbol of the function that returns the kernel table of this op for processors of
/// that level, as the static library names it (see join_level.py). Empty if no table has the op.
std::string kernelTableSymbol(std::string_view op, InstructionSet level);

/// Returns the registry of all built-in kernels. Built at the first call; thread-safe.
const KernelRegistry &builtinKernels();

} // namespace treadle
