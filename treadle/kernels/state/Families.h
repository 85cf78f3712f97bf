// Kernels of session state: variables by handle and by reference, lookup tables, and handles.
#include "treadle/runtime/Kernel.h"

/// Ops on lookup tables.
TREADLE_FAMILY(lookupTableKernels)
/// v1 variables, accessed by reference: creation, assignment and initialization checks.
TREADLE_FAMILY(refVariableKernels)
/// Changed vocabularies: GenerateVocabRemapping maps words of a new vocabulary to their positions
/// in the old one, LoadAndRemapMatrix reads a checkpoint's matrix in that order.
TREADLE_FAMILY(remappingKernels)
/// Session tensors, which a session keeps between runs under string handles, and ops on resource
/// handles.
TREADLE_FAMILY(sessionTensorKernels)
/// Rows and slices of variables, by handle and by v1 reference: reads and updates.
TREADLE_FAMILY(variableScatterKernels)
/// Variables by resource handle, and ops that work on both kinds of variables.
TREADLE_FAMILY(variableKernels)
