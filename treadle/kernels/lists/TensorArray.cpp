// Tensor arrays: the rules for writes and reads.
#include "treadle/kernels/lists/TensorArray.h"

#include "treadle/kernels/Update.h"

namespace treadle {
namespace {

Error closedError() { return invalidArgument("the tensor array was closed already"); }

PartialShape withPrefix(Dims prefix, PartialShape shape) {
  if (shape.hasRank)
    shape.dims.insert(shape.dims.begin(), prefix.begin(), prefix.end());
  return shape;
}

} // namespace

Expected<int64_t> TensorArray::size() const {
  std::lock_guard lock(mutex);
  if (isClosed)
    return Unexpected(closedError());
  return static_cast<int64_t>(elements.size());
}

bool TensorArray::isDynamic() const {
  std::lock_guard lock(mutex);
  return traits.isDynamic;
}

Expected<int64_t> TensorArray::concatenatedSize() const {
  std::lock_guard lock(mutex);
  if (isClosed)
    return Unexpected(closedError());
  return isGradient ? splitSize : static_cast<int64_t>(elements.size());
}

void TensorArray::recordSplit(int64_t size) {
  std::lock_guard lock(mutex);
  if (!isGradient)
    splitSize = size;
}

// --- writes ------------------------------------------------------------------------------------

// Grows a dynamic array if needed.
std::optional<Error> TensorArray::checkWrite(int64_t index, const Tensor &value) {
  auto size = static_cast<int64_t>(elements.size());
  if (isClosed)
    return closedError();
  if (index < 0 || (index >= size && !traits.isDynamic))
    return invalidArgument("cannot write to index ", index, " of a tensor array of size ", size,
                           traits.isDynamic ? "" : ", which can't grow");
  if (index >= maxTensorArraySize)
    return resourceExhausted("index ", index, " is too large for a tensor array, at most ",
                             maxTensorArraySize - 1);
  if (value.dtype() != traits.dtype)
    return invalidArgument("cannot write ", dtypeName(value.dtype()), " to a tensor array of ",
                           dtypeName(traits.dtype));
  if (!traits.elementShape.accepts(value.dims()))
    return invalidArgument("cannot write ", tensorTypeText(value), " to index ", index,
                           ": the tensor array's elements have the shape ",
                           traits.elementShape.text());
  if (index >= size)
    elements.resize(index + 1);
  const TensorArrayElement &element = elements[index];
  if (element.isRead)
    return invalidArgument("cannot write to index ", index, ": it was read already");
  if (element.isWritten && !traits.sumsWrites)
    return invalidArgument("cannot write to index ", index, ": it was written already");
  return std::nullopt;
}

std::optional<Error> TensorArray::add(int64_t index, Tensor value) {
  TensorArrayElement &element = elements[index];
  if (!element.shape.accepts(value.dims()))
    return invalidArgument("cannot add ", tensorTypeText(value), " to index ", index,
                           ", which has the shape ", element.shape.text());
  if (element.value) {
    hasSummedWrites = true;
    Expected<Tensor> sum = addTensors(std::move(element.value), value);
    if (!sum)
      return std::move(sum.error());
    value = std::move(*sum);
  }
  element.value = std::move(value);
  return std::nullopt;
}

std::optional<Error> TensorArray::write(int64_t index, Tensor value) {
  std::lock_guard lock(mutex);
  if (auto error = checkWrite(index, value))
    return error;
  if (traits.hasIdenticalShapes && !traits.elementShape.isFullyKnown())
    traits.elementShape = shapeOf(value);
  TensorArrayElement &element = elements[index];
  if (element.isWritten)
    return add(index, std::move(value));
  element.shape = shapeOf(value);
  element.value = std::move(value);
  element.isWritten = true;
  return std::nullopt;
}

std::optional<Error> TensorArray::setElementShape(const PartialShape &shape) {
  std::lock_guard lock(mutex);
  auto merged = mergedShapes(traits.elementShape, shape);
  if (!merged)
    return invalidArgument("the tensor array's elements have the shape ",
                           traits.elementShape.text(), ", but the op expects ", shape.text());
  traits.elementShape = std::move(*merged);
  return std::nullopt;
}

// --- reads -------------------------------------------------------------------------------------

Expected<Tensor> TensorArray::read(int64_t index) {
  std::lock_guard lock(mutex);
  if (isClosed)
    return Unexpected(closedError());
  if (index < 0 || index >= static_cast<int64_t>(elements.size()))
    return Unexpected(invalidArgument("cannot read index ", index, " of a tensor array of size ",
                                      elements.size()));
  TensorArrayElement &element = elements[index];
  if (!element.isWritten && !traits.elementShape.isFullyKnown())
    return Unexpected(invalidArgument(
        "cannot read index ", index, ": it was never written, and the shape of zeros for it, ",
        traits.elementShape.text(), ", is not fully known; set the array's element_shape"));
  if (!element.isWritten) {
    element.shape = traits.elementShape;
    element.isWritten = true;
  }
  if (element.isCleared)
    return Unexpected(invalidArgument("cannot read index ", index,
                                      " again: it was cleared after "
                                      "the first time; set clear_after_read to false to keep it"));
  if (!element.value) {
    Tensor zeros = TREADLE_TRY(zerosOf(traits.dtype, element.shape.dims));
    element.value = std::move(zeros);
  }
  element.isRead = true;
  if (!traits.clearsAfterRead)
    return element.value;
  element.isCleared = true;
  return std::exchange(element.value, Tensor());
}

void TensorArray::close() {
  BudgetedVector<TensorArrayElement> old(share); // freed after unlocking
  std::vector<std::pair<std::string, Ref<TensorArray>>> oldGradients;
  std::lock_guard lock(mutex);
  isClosed = true;
  old.swap(elements);
  oldGradients.swap(gradients);
}

// --- gradients ---------------------------------------------------------------------------------

Ref<TensorArray> TensorArray::makeGradient(Dims prepended) const {
  TensorArrayTraits its = traits;
  its.elementShape = withPrefix(prepended, traits.elementShape);
  its.isDynamic = false;
  its.clearsAfterRead = true;
  its.sumsWrites = true;
  auto made = makeRef<TensorArray>(std::move(its), static_cast<int64_t>(elements.size()));
  made->isGradient = true;
  made->splitSize = splitSize;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].isWritten)
      continue;
    made->elements[i].shape = withPrefix(prepended, elements[i].shape);
    made->elements[i].isWritten = true;
  }
  return made;
}

Expected<Ref<TensorArray>> TensorArray::gradient(const std::string &source, Dims prepended) {
  std::lock_guard lock(mutex);
  if (isClosed)
    return Unexpected(closedError());
  for (const auto &[name, array] : gradients)
    if (name == source)
      return array;
  if (hasSummedWrites)
    return Unexpected(invalidArgument(
        "the tensor array has no gradient: some of its elements were written more than once"));
  traits.isDynamic = false;
  gradients.emplace_back(source, makeGradient(prepended));
  return gradients.back().second;
}

} // namespace treadle
