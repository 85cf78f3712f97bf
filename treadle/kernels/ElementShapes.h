// Shapes that lists and arrays of tensors state for their elements: merging what is known of them,
// and joining elements into one tensor.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// A shape given as a tensor of integers: -1 alone for an unknown rank, -1 within for an unknown
/// dimension.
Expected<PartialShape> shapeFromTensor(const Tensor &t);

/// What both say together; nothing where they contradict each other.
std::optional<PartialShape> mergedShapes(const PartialShape &a, const PartialShape &b);
inline bool areCompatible(const PartialShape &a, const PartialShape &b) {
  return mergedShapes(a, b).has_value();
}
inline PartialShape shapeOf(const Tensor &t) {
  return PartialShape::ranked({t.dims().begin(), t.dims().end()});
}
/// `shape` with `size` before it; an unknown rank stays unknown.
PartialShape withLeading(int64_t size, const PartialShape &shape);
/// `shape` without its first dimension.
PartialShape withoutLeading(const PartialShape &shape);

/// `element` of every tensor in one, along a new first dimension. Empty tensors stand for zeros.
/// Every other one has exactly these dims, which the caller checked.
Expected<Tensor> stackTensors(DType dtype, std::span<const Tensor> elements, Dims elementDims);

/// Row `i` of `t`, which has at least one dimension: a share of its elements if they are many.
Tensor rowOf(const Tensor &t, int64_t i);
/// Rows [begin, begin + size) of `t`, as a tensor of that many rows.
Tensor rowsOf(const Tensor &t, int64_t begin, int64_t size);

} // namespace treadle
