// What stays in a session from run to run: variables behind handles and references, lookup tables,
// handles themselves.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// The ops on lookup tables.
std::span<const KernelEntry> lookupTableKernels();
/// V1 variables, which pass references about: making them, assigning, and asking whether they have
/// a value.
std::span<const KernelEntry> refVariableKernels();
/// Vocabularies that change between trainings: GenerateVocabRemapping says where the words of a new
/// one were in the old, LoadAndRemapMatrix reads a checkpoint's matrix in that order.
std::span<const KernelEntry> remappingKernels();
/// Handles of odd kinds: tensors that a session keeps between runs under text handles, stubs, and
/// what handles say of themselves.
std::span<const KernelEntry> sessionTensorKernels();
/// Rows and regions of variables, behind handles and v1 references: reading some, changing some.
std::span<const KernelEntry> variableScatterKernels();
/// Variables behind resource handles, and what both kinds of variables share.
std::span<const KernelEntry> variableKernels();

inline constexpr KernelFamily stateFamilies[] = {
    TREADLE_FAMILY(lookupTableKernels),     TREADLE_FAMILY(refVariableKernels),
    TREADLE_FAMILY(remappingKernels),       TREADLE_FAMILY(sessionTensorKernels),
    TREADLE_FAMILY(variableScatterKernels), TREADLE_FAMILY(variableKernels)};

} // namespace treadle
