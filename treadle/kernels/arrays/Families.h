// Ops that move elements without changing them: creation, slicing, concatenation, gather, scatter,
// transposition and padding.
#include "treadle/runtime/Kernel.h"

/// Concatenation of tensors along an axis, and splitting.
TREADLE_FAMILY(concatKernels)
/// Ops that create tensors from a shape or a few numbers: constants, ranges, one-hot rows.
TREADLE_FAMILY(fillKernels)
/// Gather: reads rows by index.
TREADLE_FAMILY(gatherKernels)
/// DynamicPartition and DynamicStitch: distribute rows to several tensors, and merge them again.
TREADLE_FAMILY(partitionKernels)
/// Ops that forward a tensor unchanged, or do nothing at all.
TREADLE_FAMILY(identityKernels)
/// Reverse, ReverseSequence and Roll.
TREADLE_FAMILY(reverseKernels)
/// Scatter: writes rows by coordinates or by position.
TREADLE_FAMILY(scatterKernels)
/// Where, tests for nonzero elements, and searches in sorted lists.
TREADLE_FAMILY(searchKernels)
/// Shape and size ops, and reshapes.
TREADLE_FAMILY(shapeKernels)
/// Slices: by begin and size, and strided with masks; their gradient and their update.
TREADLE_FAMILY(sliceKernels)
/// Space to batch or depth and back, and orders of dimensions by name.
TREADLE_FAMILY(spaceKernels)
/// Tiles, broadcasts and pads.
TREADLE_FAMILY(tileKernels)
/// Transposition, and ops on permutations.
TREADLE_FAMILY(transposeKernels)
/// Unique elements, and differences of lists.
TREADLE_FAMILY(uniqueKernels)
/// XLA ops that move elements: dynamic slices (clamped to the bounds), gather, interior padding;
/// and rounding to fewer bits.
TREADLE_FAMILY(xlaKernels)
/// tf2xla ops on shapes: broadcasts, dynamic sizes, partition of a tensor for a grid of devices,
/// and sharding annotations.
TREADLE_FAMILY(xlaShapeKernels)
