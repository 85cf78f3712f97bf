// Datasets: sequences of elements that are computed when they are asked for, and what goes through
// them.
#include "treadle/runtime/Kernel.h"

/// Datasets of tensors, and those that are made of other datasets without calling functions.
TREADLE_FAMILY(datasetKernels)
/// Iterators, whose state stays between runs, and what else takes elements without functions.
TREADLE_FAMILY(iteratorKernels)
