// Values that hold tensors: tensor lists, tensor arrays, stacks, maps, optionals, composite
// tensors.
#include "treadle/runtime/Kernel.h"

/// Composite tensors (a ragged tensor, a sparse one, a class of one's own) packed into a variant,
/// part by part.
TREADLE_FAMILY(compositeTensorKernels)
/// Optionals: values that are either nothing or a few tensors, as conditionals with gradients pass.
TREADLE_FAMILY(optionalKernels)
/// Stacks: where v1 loops leave values for their gradients.
TREADLE_FAMILY(stackKernels)
/// The kernels of TensorArrayV3, V2 and the first: the same ops with three forms of handle, and
/// with or without a flow value to order them by.
TREADLE_FAMILY(tensorArrayKernels)
/// TensorList ops on single elements: making lists, pushing, popping, getting and setting.
TREADLE_FAMILY(tensorListKernels)
/// TensorList ops on whole lists: between a list and one tensor, and between lists.
TREADLE_FAMILY(tensorListWholeKernels)
/// The value behind the TensorMap ops: tensors by keys that are tensors.
TREADLE_FAMILY(tensorMapKernels)
