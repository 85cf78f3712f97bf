// Elements moved, not changed: tensors made, cut, joined, gathered, scattered, permuted and padded.
#include "treadle/runtime/Kernel.h"

/// Joining tensors along an axis and taking them apart again.
TREADLE_FAMILY(concatKernels)
/// Ops that make tensors out of a shape or a few numbers: constants, ranges, one-hot rows.
TREADLE_FAMILY(fillKernels)
/// Reading rows by index.
TREADLE_FAMILY(gatherKernels)
/// Dealing rows out to several tensors, and putting them together again.
TREADLE_FAMILY(partitionKernels)
/// Ops that hand a tensor on as it is, or do nothing at all.
TREADLE_FAMILY(identityKernels)
/// Turning elements round along dimensions: whole, by sequence, or as a ring.
TREADLE_FAMILY(reverseKernels)
/// Writing rows by coordinates or by position.
TREADLE_FAMILY(scatterKernels)
/// Whether and where elements are not zero, and where values belong in sorted lists.
TREADLE_FAMILY(searchKernels)
/// Ops on shapes: reading them, and giving the same elements another one.
TREADLE_FAMILY(shapeKernels)
/// Slices: by begin and size, and strided with masks; their gradient and their update.
TREADLE_FAMILY(sliceKernels)
/// Moving blocks of space into the batch or the depth, and back; and orders of dimensions by name.
TREADLE_FAMILY(spaceKernels)
/// Repeating elements: tiles and broadcasts; and surrounding them: pads.
TREADLE_FAMILY(tileKernels)
/// Permuting dimensions, and permutations themselves.
TREADLE_FAMILY(transposeKernels)
/// Finding equal elements: each once, or those that another list lacks.
TREADLE_FAMILY(uniqueKernels)
/// Ops of XLA that move elements: slices at computed places (which are moved inside where they
/// aren't), gather, padding between elements; and rounding to fewer bits.
TREADLE_FAMILY(xlaKernels)
/// Ops of tf2xla about shapes: broadcasts, sizes that a run sets, pieces for a grid of devices, and
/// annotations of sharding.
TREADLE_FAMILY(xlaShapeKernels)
