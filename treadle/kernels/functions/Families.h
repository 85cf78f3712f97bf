// Kernels that call functions: for the elements of tensors, as XLA's reductions, scatters and sorts
// do, and for their rows.
#include "treadle/runtime/Kernel.h"

/// The two ends of a BatchFunction: a batch filled up to a size that is allowed, and cut again.
TREADLE_FAMILY(batchFunctionKernels)
/// Programs of StableHLO in nodes, which can't be run as they are.
TREADLE_FAMILY(programKernels)
/// Sorts by the elements themselves.
TREADLE_FAMILY(sortKernels)
