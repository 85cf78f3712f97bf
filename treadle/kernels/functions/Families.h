// Kernels that call functions: for the elements of tensors, as XLA's reductions, scatters and sorts
// do, and for their rows.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// The two ends of a BatchFunction: a batch filled up to a size that is allowed, and cut again.
std::span<const KernelEntry> batchFunctionKernels();
/// Programs of StableHLO in nodes, which can't be run as they are.
std::span<const KernelEntry> programKernels();
/// Sorts by the elements themselves.
std::span<const KernelEntry> sortKernels();
/// Functions that are called with each row.
std::span<const FunctionKernelEntry> rowFunctionKernels();
/// Ops whose functions say what to do with two elements: reductions, windows, scatters, sorts, as
/// XLA has them.
std::span<const FunctionKernelEntry> tensorFunctionKernels();

inline constexpr KernelFamily functionsFamilies[] = {TREADLE_FAMILY(batchFunctionKernels),
                                                     TREADLE_FAMILY(programKernels),
                                                     TREADLE_FAMILY(sortKernels)};

} // namespace treadle
