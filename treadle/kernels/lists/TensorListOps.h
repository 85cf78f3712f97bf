// What the two files of TensorList kernels share: reading lists and their shapes from inputs.
#pragma once

#include "treadle/kernels/lists/TensorList.h"

namespace treadle {

/// The list in input `i`; null, having failed. With a dtype: its elements must have it.
const TensorListObject *listInput(OpContext &ctx, int i);
const TensorListObject *listInput(OpContext &ctx, int i, DType dtype);

/// The list of input 0 (which is one) for changing: itself where nobody else has it, else a copy.
/// `holder` becomes the tensor that holds it, for the output.
TensorListObject *takeList(OpContext &ctx, Tensor &holder);

/// The shape that input `i` states; nothing, having failed.
std::optional<PartialShape> shapeInput(OpContext &ctx, int i);
/// The same, merged with what the list knows.
std::optional<PartialShape> elementShapeInput(OpContext &ctx, const TensorListObject &list, int i);

/// The number in input `i`; nothing, having failed, where it is no scalar.
std::optional<int64_t> countInput(OpContext &ctx, int i, std::string_view what);

/// Makes room for `size` elements; false, having failed, where that is more than memory could hold.
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
