// Kernels that call functions for the elements of tensors, as in XLA's reductions, scatters and
// sorts, and for their rows.
#include "treadle/runtime/Kernel.h"

/// The two ends of a BatchFunction: padding a batch to an allowed size, and slicing the results.
TREADLE_FAMILY(batchFunctionKernels)
/// XlaCallModule nodes whose StableHLO program couldn't be imported.
TREADLE_FAMILY(programKernels)
/// Sorts by the elements themselves, without a comparator.
TREADLE_FAMILY(sortKernels)
