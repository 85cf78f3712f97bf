// Shared by the kernels of TensorList ops: reading lists and shapes from inputs.
#pragma once

#include "treadle/kernels/lists/TensorList.h"

namespace treadle {

/// Returns the list in input `i`; null after failing the op. If a dtype is given, the elements must
/// have it.
const TensorListObject *listInput(OpContext &ctx, int i);
const TensorListObject *listInput(OpContext &ctx, int i, DType dtype);

/// Returns the list of input 0 for modification: itself if it is not shared, else a copy. `holder`
/// becomes the tensor that holds it, for the output.
TensorListObject *takeList(OpContext &ctx, Tensor &holder);

/// Returns the shape in input `i`; nullopt after failing the op.
std::optional<PartialShape> shapeInput(OpContext &ctx, int i);
/// Returns the shape in input `i`, merged with the list's element shape.
std::optional<PartialShape> elementShapeInput(OpContext &ctx, const TensorListObject &list, int i);

/// Returns the number in input `i`; nullopt after failing the op if it isn't a scalar.
std::optional<int64_t> countInput(OpContext &ctx, int i, std::string_view what);

/// Resizes the list; returns false after failing the op if that exceeds the size limit.
bool resizeList(OpContext &ctx, TensorListObject &list, int64_t size);

void setList(OpContext &ctx, Ref<TensorListObject> list);

/// Binds an op whose state is its attribute `element_dtype`.
template <KernelFn fn> Expected<BoundKernel> bindElementDType(const BindContext &node) {
  return node.attrs.get<DType>("element_dtype").map([](DType dtype) {
    return boundWith(fn, dtype);
  });
}
/// Binds an op whose state is the dtype of its output.
template <KernelFn fn> Expected<BoundKernel> bindOutputDType(const BindContext &node) {
  return boundWith(fn, node.outputTypes[0]);
}

} // namespace treadle
