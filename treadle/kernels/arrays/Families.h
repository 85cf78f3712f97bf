// Elements moved, not changed: tensors made, cut, joined, gathered, scattered, permuted and padded.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Joining tensors along an axis and taking them apart again.
std::span<const KernelEntry> concatKernels();
/// Ops that make tensors out of a shape or a few numbers: constants, ranges, one-hot rows.
std::span<const KernelEntry> fillKernels();
/// Reading rows by index.
std::span<const KernelEntry> gatherKernels();
/// Dealing rows out to several tensors, and putting them together again.
std::span<const KernelEntry> partitionKernels();
/// Ops that hand a tensor on as it is, or do nothing at all.
std::span<const KernelEntry> identityKernels();
/// Turning elements round along dimensions: whole, by sequence, or as a ring.
std::span<const KernelEntry> reverseKernels();
/// Writing rows by coordinates or by position.
std::span<const KernelEntry> scatterKernels();
/// Whether and where elements are not zero, and where values belong in sorted lists.
std::span<const KernelEntry> searchKernels();
/// Ops on shapes: reading them, and giving the same elements another one.
std::span<const KernelEntry> shapeKernels();
/// Slices: by begin and size, and strided with masks; their gradient and their update.
std::span<const KernelEntry> sliceKernels();
/// Moving blocks of space into the batch or the depth, and back; and orders of dimensions by name.
std::span<const KernelEntry> spaceKernels();
/// Repeating elements: tiles and broadcasts; and surrounding them: pads.
std::span<const KernelEntry> tileKernels();
/// Permuting dimensions, and permutations themselves.
std::span<const KernelEntry> transposeKernels();
/// Finding equal elements: each once, or those that another list lacks.
std::span<const KernelEntry> uniqueKernels();
/// Ops of XLA that move elements: slices at computed places (which are moved inside where they
/// aren't), gather, padding between elements; and rounding to fewer bits.
std::span<const KernelEntry> xlaKernels();
/// Ops of tf2xla about shapes: broadcasts, sizes that a run sets, pieces for a grid of devices, and
/// annotations of sharding.
std::span<const KernelEntry> xlaShapeKernels();

inline constexpr KernelFamily arraysFamilies[] = {
    TREADLE_FAMILY(concatKernels),    TREADLE_FAMILY(fillKernels),
    TREADLE_FAMILY(gatherKernels),    TREADLE_FAMILY(partitionKernels),
    TREADLE_FAMILY(identityKernels),  TREADLE_FAMILY(reverseKernels),
    TREADLE_FAMILY(scatterKernels),   TREADLE_FAMILY(searchKernels),
    TREADLE_FAMILY(shapeKernels),     TREADLE_FAMILY(sliceKernels),
    TREADLE_FAMILY(spaceKernels),     TREADLE_FAMILY(tileKernels),
    TREADLE_FAMILY(transposeKernels), TREADLE_FAMILY(uniqueKernels),
    TREADLE_FAMILY(xlaKernels),       TREADLE_FAMILY(xlaShapeKernels)};

} // namespace treadle
