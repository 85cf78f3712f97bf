// TensorList ops on single elements: creation, push, pop, get and set. TensorListWhole.cpp has ops
// on whole lists.
#include "treadle/kernels/lists/TensorListOps.h"

#include "treadle/kernels/Update.h"

#include <algorithm>

namespace treadle {

// --- the object --------------------------------------------------------------------------------

Ref<TensorListObject> TensorListObject::copy() const {
  auto list = makeRef<TensorListObject>(dtype, elementShape);
  list->maxElements = maxElements;
  list->elements = elements;
  return list;
}

Expected<Ref<VariantObject>> zerosLikeList(const TensorListObject &list) {
  auto out = makeRef<TensorListObject>(list.dtype, list.elementShape);
  out->maxElements = list.maxElements;
  out->elements.reserve(list.elements.size());
  for (const Tensor &t : list.elements) {
    Tensor zeros = TREADLE_TRY(t ? zerosLikeTensor(t) : Tensor());
    out->elements.push_back(std::move(zeros));
  }
  return Ref<VariantObject>(std::move(out));
}

Expected<Ref<VariantObject>> addLists(const TensorListObject &a, const TensorListObject &b) {
  auto shape = mergedShapes(a.elementShape, b.elementShape);
  if (a.dtype != b.dtype || !shape || a.elements.size() != b.elements.size())
    return Unexpected(invalidArgument(
        "cannot add a list of ", b.elements.size(), " ", dtypeName(b.dtype), b.elementShape.text(),
        " to one of ", a.elements.size(), " ", dtypeName(a.dtype), a.elementShape.text()));
  auto out = makeRef<TensorListObject>(a.dtype, *shape);
  out->elements.reserve(a.elements.size());
  for (size_t i = 0; i < a.elements.size(); ++i) {
    const Tensor &x = a.elements[i], &y = b.elements[i];
    Tensor sum = TREADLE_TRY(x && y ? addTensors(x, y) : x ? x : y);
    out->elements.push_back(std::move(sum));
  }
  return Ref<VariantObject>(std::move(out));
}

// --- shared by ops -----------------------------------------------------------------------------

const TensorListObject *listInput(OpContext &ctx, int i) {
  const auto *list = variantIn<TensorListObject>(ctx.input(i));
  if (!list)
    ctx.fail(
        invalidArgument("input ", i, " (", tensorTypeText(ctx.input(i)), ") is not a tensor list"));
  return list;
}

const TensorListObject *listInput(OpContext &ctx, int i, DType dtype) {
  const TensorListObject *list = listInput(ctx, i);
  if (!list || list->dtype == dtype)
    return list;
  ctx.fail(invalidArgument("the list's elements are ", dtypeName(list->dtype),
                           ", but the op's are ", dtypeName(dtype)));
  return nullptr;
}

TensorListObject *takeList(OpContext &ctx, Tensor &holder) {
  bool isOwn = ctx.canReuseInput(0);
  holder = ctx.takeInput(0);
  auto *list = variantIn<TensorListObject>(holder);
  if (isOwn && list->isUnique())
    return list;
  Ref<TensorListObject> copy = list->copy();
  list = copy.get();
  holder = makeVariant(std::move(copy));
  return list;
}

std::optional<PartialShape> shapeInput(OpContext &ctx, int i) {
  return ctx.check(shapeFromTensor(ctx.input(i)));
}

std::optional<PartialShape> elementShapeInput(OpContext &ctx, const TensorListObject &list, int i) {
  auto asked = shapeInput(ctx, i);
  if (!asked)
    return std::nullopt;
  auto merged = mergedShapes(*asked, list.elementShape);
  if (!merged)
    ctx.fail(invalidArgument("the list's element shape is ", list.elementShape.text(),
                             ", but the op expects ", asked->text()));
  return merged;
}

std::optional<int64_t> countInput(OpContext &ctx, int i, std::string_view what) {
  const Tensor &t = ctx.input(i);
  if (t.count() != 1) {
    ctx.fail(invalidArgument(what, " must be a scalar, found ", tensorTypeText(t)));
    return std::nullopt;
  }
  return indexAt(t, 0);
}

bool resizeList(OpContext &ctx, TensorListObject &list, int64_t size) {
  constexpr int64_t maxSize = int64_t{1} << 28; // 2 GiB of references
  if (size <= maxSize) {
    list.elements.resize(size);
    return true;
  }
  ctx.fail(resourceExhausted("a list of ", size, " elements is too large, at most ", maxSize));
  return false;
}

void setList(OpContext &ctx, Ref<TensorListObject> list) {
  ctx.setOutput(0, makeVariant(std::move(list)));
}

namespace {

// --- creation ----------------------------------------------------------------------------------

void emptyTensorList(OpContext &ctx) {
  auto shape = shapeInput(ctx, 0);
  auto maxElements = countInput(ctx, 1, "max_num_elements");
  if (!shape || !maxElements)
    return;
  auto list = makeRef<TensorListObject>(ctx.state<DType>(), std::move(*shape));
  list->maxElements = *maxElements < 0 ? -1 : *maxElements;
  setList(ctx, std::move(list));
}

void reserve(OpContext &ctx) {
  auto shape = shapeInput(ctx, 0);
  auto count = countInput(ctx, 1, "num_elements");
  if (!shape || !count)
    return;
  if (*count < 0)
    return ctx.fail(invalidArgument("num_elements is ", *count, ", expected 0 or more"));
  auto list = makeRef<TensorListObject>(ctx.state<DType>(), std::move(*shape));
  if (resizeList(ctx, *list, *count))
    setList(ctx, std::move(list));
}

// --- queries -----------------------------------------------------------------------------------

void length(OpContext &ctx) {
  if (const TensorListObject *list = listInput(ctx, 0))
    ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>(list->elements.size())));
}

void elementShape(OpContext &ctx) {
  const TensorListObject *list = TREADLE_OR_RETURN(listInput(ctx, 0));
  const PartialShape &shape = list->elementShape;
  DType dtype = ctx.state<DType>();
  int64_t unknown = -1, rank = static_cast<int64_t>(shape.dims.size());
  Dims values = shape.hasRank ? Dims(shape.dims) : Dims(&unknown, 1);
  Tensor *out =
      TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, shape.hasRank ? Dims(&rank, 1) : Dims()));
  if (dtype == DType::Int64)
    std::ranges::copy(values, out->data<int64_t>());
  else
    std::ranges::copy(values, out->data<int32_t>());
}

// --- push and pop ------------------------------------------------------------------------------

bool acceptsElement(OpContext &ctx, const TensorListObject &list, const Tensor &element) {
  if (list.elementShape.accepts(element.dims()))
    return true;
  ctx.fail(invalidArgument("the list's element shape is ", list.elementShape.text(),
                           ", which does not fit an element of shape ", dimsText(element.dims())));
  return false;
}

void pushBack(OpContext &ctx) {
  const TensorListObject *list = listInput(ctx, 0, ctx.input(1).dtype());
  if (!list || !acceptsElement(ctx, *list, ctx.input(1)))
    return;
  if (list->maxElements >= 0 && static_cast<int64_t>(list->elements.size()) >= list->maxElements)
    return ctx.fail(
        invalidArgument("the list holds its maximum of ", list->maxElements, " elements"));
  Tensor holder;
  takeList(ctx, holder)->elements.push_back(ctx.takeInput(1));
  ctx.setOutput(0, std::move(holder));
}

// Returns the shape for an element that was never set, as far as the other elements determine it.
std::optional<PartialShape> shapeOfUnset(OpContext &ctx, const TensorListObject &list,
                                         int shapeInput) {
  auto shape = elementShapeInput(ctx, list, shapeInput);
  for (const Tensor &t : list.elements) {
    if (!shape || shape->isFullyKnown())
      break;
    if (!t)
      continue;
    auto merged = mergedShapes(*shape, shapeOf(t));
    if (!merged) {
      ctx.fail(invalidArgument("the list's elements have different shapes, ", shape->text(),
                               " and ", dimsText(t.dims()),
                               ", so the shape of one never set is unknown"));
      return std::nullopt;
    }
    shape = std::move(merged);
  }
  if (shape && !shape->isFullyKnown()) {
    ctx.fail(invalidArgument("the element was never set, and its shape ", shape->text(),
                             " is not fully known"));
    return std::nullopt;
  }
  return shape;
}

void setUnset(OpContext &ctx, const TensorListObject &list, int shapeInput, int output) {
  auto shape = TREADLE_OR_RETURN(shapeOfUnset(ctx, list, shapeInput));
  if (auto zeros = ctx.check(zerosOf(list.dtype, shape.dims)))
    ctx.setOutput(output, std::move(*zeros));
}

void popBack(OpContext &ctx) {
  const TensorListObject *list = TREADLE_OR_RETURN(listInput(ctx, 0, ctx.state<DType>()));
  if (list->elements.empty())
    return ctx.fail(invalidArgument("the list is empty: nothing to pop"));
  if (!list->elements.back()) {
    setUnset(ctx, *list, 1, 1);
    if (ctx.hasFailed())
      return;
  }
  Tensor holder;
  TensorListObject *own = takeList(ctx, holder);
  if (own->elements.back())
    ctx.setOutput(1, std::move(own->elements.back()));
  own->elements.pop_back();
  ctx.setOutput(0, std::move(holder));
}

// --- get and set -------------------------------------------------------------------------------

bool checkIndex(OpContext &ctx, const TensorListObject &list, int64_t index) {
  if (index >= 0 && index < static_cast<int64_t>(list.elements.size()))
    return true;
  ctx.fail(invalidArgument("index is ", index, ", but the list has ", list.elements.size(),
                           " elements"));
  return false;
}

void getItem(OpContext &ctx) {
  const TensorListObject *list = listInput(ctx, 0, ctx.state<DType>());
  auto index = countInput(ctx, 1, "index");
  if (!list || !index || !checkIndex(ctx, *list, *index))
    return;
  if (const Tensor &element = list->elements[*index])
    return ctx.setOutput(0, element);
  setUnset(ctx, *list, 2, 0);
}

void setItem(OpContext &ctx) {
  const Tensor &item = ctx.input(2);
  const TensorListObject *list = listInput(ctx, 0, item.dtype());
  auto index = countInput(ctx, 1, "index");
  if (!list || !index)
    return;
  bool grows = ctx.state<bool>() && *index >= static_cast<int64_t>(list->elements.size());
  if ((!grows && !checkIndex(ctx, *list, *index)) || !acceptsElement(ctx, *list, item))
    return;
  Tensor holder;
  TensorListObject *own = takeList(ctx, holder);
  if (grows && !resizeList(ctx, *own, *index + 1))
    return;
  own->elements[*index] = ctx.takeInput(2);
  ctx.setOutput(0, std::move(holder));
}

Expected<BoundKernel> bindSetItem(const BindContext &node) {
  return boundWith(setItem, node.attrs.getOr("resize_if_index_out_of_bounds", false));
}

void resize(OpContext &ctx) {
  auto size = countInput(ctx, 1, "size");
  if (!listInput(ctx, 0) || !size)
    return;
  if (*size < 0)
    return ctx.fail(invalidArgument("size is ", *size, ", expected 0 or more"));
  Tensor holder;
  if (resizeList(ctx, *takeList(ctx, holder), *size))
    ctx.setOutput(0, std::move(holder));
}

const KernelEntry tensorListTable[] = {
    {"EmptyTensorList", bindElementDType<emptyTensorList>},
    {"TensorListElementShape", bindOutputDType<elementShape>},
    {"TensorListGetItem", bindElementDType<getItem>},
    {"TensorListLength", bindPlain<length>},
    {"TensorListPopBack", bindElementDType<popBack>},
    {"TensorListPushBack", bindPlain<pushBack>},
    {"TensorListReserve", bindElementDType<reserve>},
    {"TensorListResize", bindPlain<resize>},
    {"TensorListSetItem", bindSetItem},
};

} // namespace

std::span<const KernelEntry> tensorListKernels() { return tensorListTable; }

} // namespace treadle
