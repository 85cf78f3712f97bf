// Element shapes of tensor lists and tensor arrays: merging partial shapes, and stacking elements
// into one tensor.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// Converts a shape given as an integer tensor: a scalar -1 is an unknown rank, a -1 inside is an
/// unknown dimension.
Expected<PartialShape> shapeFromTensor(const Tensor &t);

/// Returns the shape that satisfies both; nullopt if they contradict each other.
std::optional<PartialShape> mergedShapes(const PartialShape &a, const PartialShape &b);
inline bool areCompatible(const PartialShape &a, const PartialShape &b) {
  return mergedShapes(a, b).has_value();
}
inline PartialShape shapeOf(const Tensor &t) {
  return PartialShape::ranked({t.dims().begin(), t.dims().end()});
}
/// Returns `shape` with `size` prepended; an unknown rank stays unknown.
PartialShape withLeading(int64_t size, const PartialShape &shape);
/// Returns `shape` without its first dimension.
PartialShape withoutLeading(const PartialShape &shape);

/// Stacks `elements` along a new first dimension. Null tensors become zeros. All others must have
/// exactly `elementDims`, which the caller checks.
Expected<Tensor> stackTensors(DType dtype, std::span<const Tensor> elements, Dims elementDims);

/// Returns slice `i` of `t` along its first dimension: a view if it is large, else a copy. `t` must
/// have at least one dimension.
Tensor rowOf(const Tensor &t, int64_t i);
/// Returns slices [begin, begin + size) of `t` along its first dimension.
Tensor rowsOf(const Tensor &t, int64_t begin, int64_t size);

} // namespace treadle
