#include "treadle/kernels/ElementShapes.h"

namespace treadle {

Expected<PartialShape> shapeFromTensor(const Tensor &t) {
  if (t.dtype() != DType::Int32 && t.dtype() != DType::Int64)
    return Unexpected(
        invalidArgument("an element shape must be int32 or int64, found ", tensorTypeText(t)));
  if (t.rank() == 0) {
    if (indexAt(t, 0) == -1)
      return PartialShape();
    return Unexpected(invalidArgument(
        "an element shape must be a vector, or the scalar -1 if it is unknown, found the scalar ",
        indexAt(t, 0)));
  }
  if (t.rank() != 1 || t.count() > 254)
    return Unexpected(
        invalidArgument("an element shape must be a vector, found ", tensorTypeText(t)));
  DimVector dims = readIndices(t);
  for (int64_t d : dims)
    if (d < -1)
      return Unexpected(
          invalidArgument("element shape ", dimsText(dims), " has a dimension below -1"));
  return PartialShape::ranked({dims.begin(), dims.end()});
}

std::optional<PartialShape> mergedShapes(const PartialShape &a, const PartialShape &b) {
  if (!a.hasRank)
    return b;
  if (!b.hasRank)
    return a;
  if (a.dims.size() != b.dims.size())
    return std::nullopt;
  PartialShape merged = a;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i] < 0)
      merged.dims[i] = b.dims[i];
    else if (b.dims[i] >= 0 && a.dims[i] != b.dims[i])
      return std::nullopt;
  }
  return merged;
}

PartialShape withLeading(int64_t size, const PartialShape &shape) {
  PartialShape out = shape;
  if (out.hasRank)
    out.dims.insert(out.dims.begin(), size);
  return out;
}

PartialShape withoutLeading(const PartialShape &shape) {
  PartialShape out = shape;
  if (!out.dims.empty())
    out.dims.erase(out.dims.begin());
  return out;
}

Expected<Tensor> stackTensors(DType dtype, std::span<const Tensor> elements, Dims elementDims) {
  DimVector dims;
  dims.push(static_cast<int64_t>(elements.size()));
  for (int64_t d : elementDims)
    dims.push(d);
  Expected<Tensor> out = Tensor::make(dtype, dims);
  if (!out || out->count() == 0)
    return out;
  int64_t size = out->count() / static_cast<int64_t>(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    void *to = elementAt(dtype, out->raw(), static_cast<int64_t>(i) * size);
    if (elements[i])
      copyElements(dtype, to, elements[i].raw(), size);
    else
      zeroElements(dtype, to, size);
  }
  return out;
}

namespace {

// Below this size a copy is cheaper than keeping the whole tensor alive.
constexpr int64_t smallBytes = 256;

Tensor part(const Tensor &t, int64_t offset, Dims dims) {
  int64_t count = countBetween(dims, 0, dims.size());
  if (count * static_cast<int64_t>(dtypeSize(t.dtype())) > smallBytes)
    return t.view(offset, dims);
  Tensor copy = *Tensor::make(t.dtype(), dims);
  if (count)
    copyElements(t.dtype(), copy.raw(), elementAt(t.dtype(), t.raw(), offset), count);
  return copy;
}

} // namespace

Tensor rowOf(const Tensor &t, int64_t i) {
  Dims dims = t.dims().subspan(1);
  return part(t, i * countBetween(dims, 0, dims.size()), dims);
}

Tensor rowsOf(const Tensor &t, int64_t begin, int64_t size) {
  DimVector dims(t.dims());
  dims[0] = size;
  return part(t, begin * countBetween(dims, 1, dims.size()), dims);
}

} // namespace treadle
