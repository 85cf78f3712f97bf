// Values that hold tensors: tensor lists, tensor arrays, stacks, maps, optionals, composite
// tensors.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Composite tensors (a ragged tensor, a sparse one, a class of one's own) packed into a variant,
/// part by part.
std::span<const KernelEntry> compositeTensorKernels();
/// Optionals: values that are either nothing or a few tensors, as conditionals with gradients pass.
std::span<const KernelEntry> optionalKernels();
/// Stacks: where v1 loops leave values for their gradients.
std::span<const KernelEntry> stackKernels();
/// The kernels of TensorArrayV3, V2 and the first: the same ops with three forms of handle, and
/// with or without a flow value to order them by.
std::span<const KernelEntry> tensorArrayKernels();
/// TensorList ops on single elements: making lists, pushing, popping, getting and setting.
std::span<const KernelEntry> tensorListKernels();
/// TensorList ops on whole lists: between a list and one tensor, and between lists.
std::span<const KernelEntry> tensorListWholeKernels();
/// The value behind the TensorMap ops: tensors by keys that are tensors.
std::span<const KernelEntry> tensorMapKernels();

inline constexpr KernelFamily listsFamilies[] = {
    TREADLE_FAMILY(compositeTensorKernels), TREADLE_FAMILY(optionalKernels),
    TREADLE_FAMILY(stackKernels),           TREADLE_FAMILY(tensorArrayKernels),
    TREADLE_FAMILY(tensorListKernels),      TREADLE_FAMILY(tensorListWholeKernels),
    TREADLE_FAMILY(tensorMapKernels)};

} // namespace treadle
