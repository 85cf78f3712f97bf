// TensorList ops on whole lists: between a list and a tensor, and between lists.
#include "treadle/kernels/lists/TensorListOps.h"

#include <algorithm>

namespace treadle {
namespace {

// --- list to tensor ----------------------------------------------------------------------------

// Returns the common shape of the elements: `known` merged with each that was set.
std::optional<PartialShape> commonShape(OpContext &ctx, PartialShape known,
                                        std::span<const Tensor> elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i] || (known.isFullyKnown() && known.accepts(elements[i].dims())))
      continue;
    auto merged = mergedShapes(known, shapeOf(elements[i]));
    if (!merged) {
      ctx.fail(invalidArgument("element ", i, " has shape ", dimsText(elements[i].dims()),
                               ", which does not fit the shape ", known.text(), " of the others"));
      return std::nullopt;
    }
    known = std::move(*merged);
  }
  if (known.isFullyKnown())
    return known;
  ctx.fail(invalidArgument(elements.empty() ? "no elements to join, and the element shape "
                                            : "no element was ever set, and the element shape ",
                           known.text(), " is not fully known"));
  return std::nullopt;
}

void setStacked(OpContext &ctx, DType dtype, const PartialShape &known,
                std::span<const Tensor> elements) {
  auto shape = TREADLE_OR_RETURN(commonShape(ctx, known, elements));
  if (auto out = ctx.check(stackTensors(dtype, elements, shape.dims)))
    ctx.setOutput(0, std::move(*out));
}

struct StackState {
  DType dtype;
  int64_t numElements;
};

void stack(OpContext &ctx) {
  const auto &state = ctx.state<StackState>();
  const TensorListObject *list = TREADLE_OR_RETURN(listInput(ctx, 0, state.dtype));
  auto shape = TREADLE_OR_RETURN(elementShapeInput(ctx, *list, 1));
  if (state.numElements >= 0 && static_cast<int64_t>(list->elements.size()) != state.numElements)
    return ctx.fail(invalidArgument("the list has ", list->elements.size(), " elements, expected ",
                                    state.numElements));
  setStacked(ctx, state.dtype, shape, list->elements);
}

Expected<BoundKernel> bindStack(const BindContext &node) {
  int64_t numElements = node.attrs.getOr("num_elements", int64_t{-1});
  return boundWith(stack, StackState{node.outputTypes[0], numElements});
}

void gather(OpContext &ctx) {
  const TensorListObject *list = TREADLE_OR_RETURN(listInput(ctx, 0, ctx.state<DType>()));
  auto shape = TREADLE_OR_RETURN(elementShapeInput(ctx, *list, 2));
  const Tensor &indices = ctx.input(1);
  std::vector<Tensor> chosen;
  chosen.reserve(indices.count());
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t index = indexAt(indices, i);
    if (index < 0 || index >= static_cast<int64_t>(list->elements.size()))
      return ctx.fail(invalidArgument("indices[", i, "] is ", index, ", but the list has ",
                                      list->elements.size(), " elements"));
    chosen.push_back(list->elements[index]);
  }
  setStacked(ctx, ctx.state<DType>(), shape, chosen);
}

// --- concat ------------------------------------------------------------------------------------

struct ConcatState {
  DType dtype;
  PartialShape elementShape; // if it is an attribute
  bool isAttribute;
};

// Returns the size of the first dimension that all set elements agree on, or -1.
int64_t commonLeadingSize(const TensorListObject &list) {
  int64_t common = -1;
  for (const Tensor &t : list.elements) {
    if (!t || t.rank() == 0 || t.dim(0) == common)
      continue;
    if (common >= 0)
      return -1;
    common = t.dim(0);
  }
  return common;
}

// Returns the size of the first dimension of each element; for one that was never set, it comes
// from the element shape, `leading` or the other elements.
std::optional<DimVector> leadingSizes(OpContext &ctx, const TensorListObject &list,
                                      const PartialShape &shape, const Tensor *leading) {
  DimVector sizes;
  int64_t fixed = shape.hasRank && !shape.dims.empty() ? shape.dims[0] : -1;
  if (fixed < 0 && (!leading || leading->count() == 0))
    fixed = commonLeadingSize(list);
  for (size_t i = 0; i < list.elements.size(); ++i) {
    const Tensor &t = list.elements[i];
    if (t && t.rank() == 0) {
      ctx.fail(
          invalidArgument("element ", i, " is a scalar; concat needs elements of rank 1 or more"));
      return std::nullopt;
    }
    int64_t size = t ? t.dim(0) : fixed;
    if (!t && fixed < 0) {
      if (!leading || static_cast<int64_t>(i) >= leading->count()) {
        ctx.fail(invalidArgument("element ", i,
                                 " was never set, and its first dimension is "
                                 "unknown; give it in leading_dims"));
        return std::nullopt;
      }
      size = indexAt(*leading, static_cast<int64_t>(i));
    }
    sizes.push(size);
  }
  return sizes;
}

// Returns the common dimensions of the elements after the first.
std::optional<PartialShape> commonRest(OpContext &ctx, PartialShape rest,
                                       const TensorListObject &list) {
  for (size_t i = 0; i < list.elements.size(); ++i) {
    if (!list.elements[i])
      continue;
    auto merged = mergedShapes(rest, withoutLeading(shapeOf(list.elements[i])));
    if (!merged) {
      ctx.fail(invalidArgument("element ", i, " has shape ", dimsText(list.elements[i].dims()),
                               ", whose dimensions after the first do not fit ", rest.text()));
      return std::nullopt;
    }
    rest = std::move(*merged);
  }
  if (rest.isFullyKnown())
    return rest;
  ctx.fail(invalidArgument("the list has no element that was set, and the dimensions ", rest.text(),
                           " of its elements after the first are not fully known"));
  return std::nullopt;
}

void copyPieces(const TensorListObject &list, const DimVector &sizes, int64_t rowCount,
                Tensor &out) {
  int64_t offset = 0;
  for (size_t i = 0; i < list.elements.size(); ++i) {
    int64_t count = sizes[i] * rowCount;
    void *to = elementAt(out.dtype(), out.raw(), offset);
    if (list.elements[i])
      copyElements(out.dtype(), to, list.elements[i].raw(), count);
    else
      zeroElements(out.dtype(), to, count);
    offset += count;
  }
}

void concat(OpContext &ctx) {
  const auto &state = ctx.state<ConcatState>();
  const TensorListObject *list = TREADLE_OR_RETURN(listInput(ctx, 0, state.dtype));
  std::optional<PartialShape> shape = state.isAttribute
                                          ? mergedShapes(state.elementShape, list->elementShape)
                                          : elementShapeInput(ctx, *list, 1);
  if (!shape && state.isAttribute)
    ctx.fail(invalidArgument("the list's element shape is ", list->elementShape.text(),
                             ", but the op expects ", state.elementShape.text()));
  if (!shape)
    return;
  if (shape->hasRank && shape->dims.empty())
    return ctx.fail(
        invalidArgument("elements are scalars; concat needs elements of rank 1 or more"));
  auto sizes = TREADLE_OR_RETURN(
      leadingSizes(ctx, *list, *shape, state.isAttribute ? nullptr : &ctx.input(2)));
  auto rest = TREADLE_OR_RETURN(commonRest(ctx, withoutLeading(*shape), *list));
  int64_t rows = 0;
  for (int64_t size : sizes)
    if (size < 0 || __builtin_add_overflow(rows, size, &rows))
      return ctx.fail(invalidArgument("leading dimension ", size, " is out of range"));
  Tensor *out = ctx.allocateOutput(0, state.dtype, withLeading(rows, rest).dims);
  Tensor *lengths = TREADLE_OR_RETURN(
      out ? ctx.allocateOutput(1, DType::Int64, {static_cast<int64_t>(sizes.size())}) : nullptr);
  std::ranges::copy(sizes, lengths->data<int64_t>());
  copyPieces(*list, sizes, rows ? out->count() / rows : 0, *out);
}

Expected<BoundKernel> bindConcat(const BindContext &node) {
  return boundWith(concat, ConcatState{node.outputTypes[0],
                                       node.attrs.getOr("element_shape", PartialShape()), true});
}
Expected<BoundKernel> bindConcatV2(const BindContext &node) {
  return boundWith(concat, ConcatState{node.outputTypes[0], {}, false});
}

// --- tensor to list ----------------------------------------------------------------------------

// Returns the list's element shape in input 1, with which the tensor's rows must be compatible.
std::optional<PartialShape> rowShapeInput(OpContext &ctx, const Tensor &t) {
  auto shape = shapeInput(ctx, 1);
  if (!shape)
    return std::nullopt;
  if (t.rank() == 0)
    ctx.fail(
        invalidArgument("the tensor must have at least one dimension, found ", tensorTypeText(t)));
  else if (!shape->accepts(t.dims().subspan(1)))
    ctx.fail(invalidArgument("rows of ", tensorTypeText(t), " do not fit the element shape ",
                             shape->text()));
  return ctx.hasFailed() ? std::nullopt : shape;
}

void fromTensor(OpContext &ctx) {
  const Tensor &t = ctx.input(0);
  auto shape = TREADLE_OR_RETURN(rowShapeInput(ctx, t));
  auto list = makeRef<TensorListObject>(t.dtype(), std::move(shape));
  list->elements.reserve(t.dim(0));
  for (int64_t i = 0; i < t.dim(0); ++i)
    list->elements.push_back(rowOf(t, i));
  setList(ctx, std::move(list));
}

// Sets the list's elements at `indices` to the rows of `t`; grows the list for indices past its
// end.
bool scatterInto(OpContext &ctx, TensorListObject &list, const Tensor &t, const Tensor &indices) {
  int64_t last = -1;
  for (int64_t i = 0; i < indices.count(); ++i)
    last = std::max(last, indexAt(indices, i));
  if (last >= static_cast<int64_t>(list.elements.size()) && !resizeList(ctx, list, last + 1))
    return false;
  for (int64_t i = 0; i < indices.count(); ++i)
    list.elements[indexAt(indices, i)] = rowOf(t, i);
  return true;
}

bool checkScatter(OpContext &ctx, const Tensor &t, const Tensor &indices) {
  if (t.rank() == 0 || indices.rank() != 1 || indices.count() != t.dim(0))
    ctx.fail(invalidArgument("indices are ", tensorTypeText(indices),
                             ", expected one for each row of ", tensorTypeText(t)));
  for (int64_t i = 0; i < indices.count() && !ctx.hasFailed(); ++i)
    if (indexAt(indices, i) < 0)
      ctx.fail(
          invalidArgument("indices[", i, "] is ", indexAt(indices, i), ", expected 0 or more"));
  return !ctx.hasFailed();
}

void scatter(OpContext &ctx) {
  const Tensor &t = ctx.input(0), &indices = ctx.input(1);
  auto shape = shapeInput(ctx, 2);
  if (!shape || !checkScatter(ctx, t, indices))
    return;
  if (!shape->accepts(t.dims().subspan(1)))
    return ctx.fail(invalidArgument("rows of ", tensorTypeText(t), " do not fit the element shape ",
                                    shape->text()));
  auto list = makeRef<TensorListObject>(t.dtype(), std::move(*shape));
  int64_t fixed = -1;
  if (ctx.numInputs() > 3) {
    auto count = TREADLE_OR_RETURN(countInput(ctx, 3, "num_elements"));
    if (count < -1)
      return ctx.fail(invalidArgument("num_elements is ", count, ", expected -1 or more"));
    fixed = count;
  }
  if (fixed > 0 && !resizeList(ctx, *list, fixed))
    return;
  if (!scatterInto(ctx, *list, t, indices))
    return;
  if (fixed >= 0 && static_cast<int64_t>(list->elements.size()) > fixed)
    return ctx.fail(invalidArgument("an index is ", list->elements.size() - 1,
                                    ", but num_elements is ", fixed));
  setList(ctx, std::move(list));
}

void scatterIntoExisting(OpContext &ctx) {
  const Tensor t = ctx.input(1), indices = ctx.input(2);
  const TensorListObject *list = listInput(ctx, 0, t.dtype());
  if (!list || !checkScatter(ctx, t, indices))
    return;
  if (!list->elementShape.accepts(t.dims().subspan(1)))
    return ctx.fail(invalidArgument("rows of ", tensorTypeText(t), " do not fit the element shape ",
                                    list->elementShape.text()));
  Tensor holder;
  if (scatterInto(ctx, *takeList(ctx, holder), t, indices))
    ctx.setOutput(0, std::move(holder));
}

void split(OpContext &ctx) {
  const Tensor &t = ctx.input(0), &lengths = ctx.input(2);
  auto shape = TREADLE_OR_RETURN(shapeInput(ctx, 1));
  if (t.rank() == 0)
    return ctx.fail(
        invalidArgument("the tensor must have at least one dimension, found ", tensorTypeText(t)));
  if (lengths.rank() != 1)
    return ctx.fail(invalidArgument("lengths must be a vector, found ", tensorTypeText(lengths)));
  if (!mergedShapes(shape,
                    withLeading(-1, PartialShape::ranked({t.dims().begin() + 1, t.dims().end()}))))
    return ctx.fail(invalidArgument("pieces of ", tensorTypeText(t),
                                    " do not fit the element shape ", shape.text()));
  auto list = makeRef<TensorListObject>(t.dtype(), std::move(shape));
  int64_t at = 0;
  for (int64_t i = 0; i < lengths.count(); ++i) {
    int64_t length = lengths.data<int64_t>()[i];
    if (length < 0 || length > t.dim(0) - at)
      return ctx.fail(invalidArgument("lengths[", i, "] is ", length, ", but ", t.dim(0) - at,
                                      " rows of ", tensorTypeText(t), " are left"));
    list->elements.push_back(rowsOf(t, at, length));
    at += length;
  }
  if (at != t.dim(0))
    return ctx.fail(
        invalidArgument("lengths add up to ", at, ", but the tensor has ", t.dim(0), " rows"));
  setList(ctx, std::move(list));
}

// --- several lists -----------------------------------------------------------------------------

// Returns a list in a tensor of any shape; fails the op for an empty variant.
const TensorListObject *listAt(OpContext &ctx, const Tensor &t, int64_t i, DType dtype) {
  const VariantObject *object = t.data<Variant>()[i].object.get();
  if (!object || object->kind() != TensorListObject::kindName) {
    ctx.fail(invalidArgument("element ", i, " of ", tensorTypeText(t), " is not a tensor list"));
    return nullptr;
  }
  auto *list = static_cast<const TensorListObject *>(object);
  if (list->dtype != dtype) {
    ctx.fail(invalidArgument("list ", i, " has ", dtypeName(list->dtype), " elements, expected ",
                             dtypeName(dtype)));
    return nullptr;
  }
  return list;
}

void pushBackBatch(OpContext &ctx) {
  const Tensor &handles = ctx.input(0), &t = ctx.input(1);
  if (handles.rank() != 1 || t.rank() == 0 || t.dim(0) != handles.dim(0))
    return ctx.fail(invalidArgument("cannot push rows of ", tensorTypeText(t), " to lists ",
                                    tensorTypeText(handles), "; expected one row a list"));
  auto out = TREADLE_OR_RETURN(ctx.check(Tensor::make(DType::Variant, handles.dims())));
  for (int64_t i = 0; i < handles.count(); ++i) {
    const TensorListObject *list = TREADLE_OR_RETURN(listAt(ctx, handles, i, t.dtype()));
    if (!list->elementShape.accepts(t.dims().subspan(1)))
      return ctx.fail(invalidArgument("rows of ", tensorTypeText(t),
                                      " do not fit the element shape ", list->elementShape.text(),
                                      " of list ", i));
    if (list->maxElements >= 0 && static_cast<int64_t>(list->elements.size()) >= list->maxElements)
      return ctx.fail(
          invalidArgument("list ", i, " holds its maximum of ", list->maxElements, " elements"));
    Ref<TensorListObject> copy = list->copy();
    copy->elements.push_back(rowOf(t, i));
    out.data<Variant>()[i].object = std::move(copy);
  }
  ctx.setOutput(0, std::move(out));
}

void concatLists(OpContext &ctx) {
  DType dtype = ctx.state<DType>();
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  if (!std::ranges::equal(a.dims(), b.dims()))
    return ctx.fail(invalidArgument("cannot concatenate lists ", tensorTypeText(a), " and ",
                                    tensorTypeText(b), ": expected the same shape"));
  auto out = TREADLE_OR_RETURN(ctx.check(Tensor::make(DType::Variant, a.dims())));
  for (int64_t i = 0; i < a.count(); ++i) {
    const TensorListObject *x = listAt(ctx, a, i, dtype);
    const TensorListObject *y = TREADLE_OR_RETURN(x ? listAt(ctx, b, i, dtype) : nullptr);
    auto shape = mergedShapes(x->elementShape, y->elementShape);
    if (!shape)
      return ctx.fail(invalidArgument("cannot concatenate lists of element shapes ",
                                      x->elementShape.text(), " and ", y->elementShape.text()));
    Ref<TensorListObject> joined = x->copy();
    joined->elementShape = std::move(*shape);
    joined->elements.insert(joined->elements.end(), y->elements.begin(), y->elements.end());
    out.data<Variant>()[i].object = std::move(joined);
  }
  ctx.setOutput(0, std::move(out));
}

const KernelEntry tensorListWholeTable[] = {
    {"TensorListConcat", bindConcat},
    {"TensorListConcatLists", bindElementDType<concatLists>},
    {"TensorListConcatV2", bindConcatV2},
    {"TensorListFromTensor", bindPlain<fromTensor>},
    {"TensorListGather", bindElementDType<gather>},
    {"TensorListPushBackBatch", bindPlain<pushBackBatch>},
    {"TensorListScatter", bindPlain<scatter>},
    {"TensorListScatterIntoExistingList", bindPlain<scatterIntoExisting>},
    {"TensorListScatterV2", bindPlain<scatter>},
    {"TensorListSplit", bindPlain<split>},
    {"TensorListStack", bindStack},
};

} // namespace

std::span<const KernelEntry> tensorListWholeKernels() { return tensorListWholeTable; }

} // namespace treadle
