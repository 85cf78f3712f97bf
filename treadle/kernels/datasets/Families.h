// Kernels for datasets: sequences of elements that are computed on request, and iterators.
#include "treadle/runtime/Kernel.h"

/// Sources of tensors, and datasets derived from others without functions.
TREADLE_FAMILY(datasetKernels)
/// Iterators, whose position persists between runs, and other consumers of elements without
/// functions.
TREADLE_FAMILY(iteratorKernels)
