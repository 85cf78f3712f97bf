// Datasets: sequences of elements that are computed when they are asked for, and what goes through
// them.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Datasets of tensors, and those that are made of other datasets without calling functions.
std::span<const KernelEntry> datasetKernels();
/// Iterators, whose state stays between runs, and what else takes elements without functions.
std::span<const KernelEntry> iteratorKernels();
/// Datasets whose functions are called with elements, and what reduces a dataset.
std::span<const FunctionKernelEntry> datasetFunctionKernels();

inline constexpr KernelFamily datasetsFamilies[] = {TREADLE_FAMILY(datasetKernels),
                                                    TREADLE_FAMILY(iteratorKernels)};

} // namespace treadle
