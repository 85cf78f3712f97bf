// Kernels for values that hold tensors: tensor lists, tensor arrays, stacks, maps, optionals,
// composite tensors.
#include "treadle/runtime/Kernel.h"

/// Composite tensors (ragged, sparse or custom): packing of their components into a variant, and
/// unpacking.
TREADLE_FAMILY(compositeTensorKernels)
/// Optionals: either nothing or a tuple of tensors, used by gradients of conditionals.
TREADLE_FAMILY(optionalKernels)
/// Stacks, which keep values of v1 loops for their gradients.
TREADLE_FAMILY(stackKernels)
/// TensorArray ops of versions 1 to 3: the same ops with different handles, with or without a flow
/// value that orders them.
TREADLE_FAMILY(tensorArrayKernels)
/// TensorList ops on single elements: creation, push, pop, get and set.
TREADLE_FAMILY(tensorListKernels)
/// TensorList ops on whole lists: between a list and a tensor, and between lists.
TREADLE_FAMILY(tensorListWholeKernels)
/// TensorMap ops: maps from tensors to tensors.
TREADLE_FAMILY(tensorMapKernels)
