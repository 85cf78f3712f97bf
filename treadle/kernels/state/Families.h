// What stays in a session from run to run: variables behind handles and references, lookup tables,
// handles themselves.
#include "treadle/runtime/Kernel.h"

/// The ops on lookup tables.
TREADLE_FAMILY(lookupTableKernels)
/// V1 variables, which pass references about: making them, assigning, and asking whether they have
/// a value.
TREADLE_FAMILY(refVariableKernels)
/// Vocabularies that change between trainings: GenerateVocabRemapping says where the words of a new
/// one were in the old, LoadAndRemapMatrix reads a checkpoint's matrix in that order.
TREADLE_FAMILY(remappingKernels)
/// Handles of odd kinds: tensors that a session keeps between runs under text handles, stubs, and
/// what handles say of themselves.
TREADLE_FAMILY(sessionTensorKernels)
/// Rows and regions of variables, behind handles and v1 references: reading some, changing some.
TREADLE_FAMILY(variableScatterKernels)
/// Variables behind resource handles, and what both kinds of variables share.
TREADLE_FAMILY(variableKernels)
