#include "treadle/kernels/arrays/Rearrange.h"

#include "treadle/kernels/arrays/Pad.h"

#include <algorithm>

namespace treadle::rearrange {
namespace {

template <size_t N> struct Bytes {
  char bytes[N];
};

template <typename T>
void copyRow(int64_t count, T *dst, int64_t dstStride, const T *src, int64_t srcStride) {
  if (dstStride == 1 && srcStride == 1) {
    std::memcpy(dst, src, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    dst[i * dstStride] = src[i * srcStride];
}

template <typename T>
void copyAs(Dims dims, void *dstBase, Dims dstStrides, const void *srcBase, Dims srcStrides) {
  auto *dst = static_cast<T *>(dstBase);
  const auto *src = static_cast<const T *>(srcBase);
  size_t rank = dims.size();
  if (rank == 0) {
    *dst = *src;
    return;
  }
  if (std::ranges::find(dims, 0) != dims.end())
    return;
  std::vector<int64_t> index(rank, 0);
  size_t inner = rank - 1;
  for (;;) {
    copyRow(dims[inner], dst, dstStrides[inner], src, srcStrides[inner]);
    size_t i = inner;
    for (; i > 0; --i) {
      size_t d = i - 1;
      dst += dstStrides[d];
      src += srcStrides[d];
      if (++index[d] < dims[d])
        break;
      dst -= dstStrides[d] * dims[d];
      src -= srcStrides[d] * dims[d];
      index[d] = 0;
    }
    if (i == 0)
      return;
  }
}

std::vector<int64_t> dimsOf(const Tensor &t) { return {t.dims().begin(), t.dims().end()}; }

} // namespace

void copy(size_t size, Dims dims, void *dst, Dims dstStrides, const void *src, Dims srcStrides) {
  switch (size) {
  case 1:
    return copyAs<Bytes<1>>(dims, dst, dstStrides, src, srcStrides);
  case 2:
    return copyAs<uint16_t>(dims, dst, dstStrides, src, srcStrides);
  case 4:
    return copyAs<uint32_t>(dims, dst, dstStrides, src, srcStrides);
  case 8:
    return copyAs<uint64_t>(dims, dst, dstStrides, src, srcStrides);
  default:
    return copyAs<Bytes<16>>(dims, dst, dstStrides, src, srcStrides);
  }
}

std::vector<int64_t> strides(Dims dims) {
  std::vector<int64_t> result(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    result[i - 1] = result[i] * dims[i];
  return result;
}

std::vector<int64_t> numbers(const Tensor &t) {
  std::vector<int64_t> result(static_cast<size_t>(t.count()));
  if (t.dtype() == DType::Int32)
    std::copy_n(t.data<int32_t>(), t.count(), result.begin());
  else if (t.dtype() == DType::Int64)
    std::copy_n(t.data<int64_t>(), t.count(), result.begin());
  return result;
}

Expected<Tensor> permuted(const Tensor &x, std::span<const int64_t> order) {
  if (std::ranges::is_sorted(order))
    return x;
  std::vector<int64_t> dims, from, own = strides(x.dims());
  for (int64_t d : order) {
    dims.push_back(x.dim(static_cast<int>(d)));
    from.push_back(own[d]);
  }
  Expected<Tensor> out = Tensor::make(x.dtype(), dims);
  if (out)
    copy(dtypeSize(x.dtype()), dims, out->raw(), strides(dims), x.raw(), from);
  return out;
}

Expected<Tensor> filled(const Tensor &x, Dims dims) {
  Expected<Tensor> out = Tensor::make(x.dtype(), dims);
  if (out)
    fillElements(x.dtype(), out->raw(), x.raw(), out->count());
  return out;
}

Expected<Tensor> padded(const Tensor &x, const Tensor &filler, std::span<const int64_t> low,
                        std::span<const int64_t> high, std::span<const int64_t> interior) {
  auto rank = static_cast<size_t>(x.rank());
  if (low.size() != rank || high.size() != rank || interior.size() != rank)
    return Unexpected(invalidArgument("the padding has ", low.size(), ", ", high.size(), " and ",
                                      interior.size(), " sizes, expected ", rank, " each"));
  std::vector<int64_t> dims(rank), count(rank), first(rank), skipped(rank), step(rank);
  for (size_t i = 0; i < rank; ++i) {
    int64_t size = x.dim(static_cast<int>(i));
    step[i] = interior[i] + 1;
    if (interior[i] < 0)
      return Unexpected(invalidArgument("the interior padding of dimension ", i, " is ",
                                        interior[i], ", expected 0 or more"));
    int64_t spread = size ? (size - 1) * step[i] + 1 : 0;
    dims[i] = spread + low[i] + high[i];
    if (dims[i] < 0)
      return Unexpected(invalidArgument("dimension ", i, " would have ", dims[i], " elements"));
    // Range of the elements that are kept: low + k * step in [0, dims).
    skipped[i] = low[i] < 0 ? (-low[i] + step[i] - 1) / step[i] : 0;
    first[i] = low[i] + skipped[i] * step[i];
    int64_t fits = first[i] < dims[i] ? (dims[i] - 1 - first[i]) / step[i] + 1 : 0;
    count[i] = std::clamp<int64_t>(size - skipped[i], 0, fits);
  }
  Expected<Tensor> out = Tensor::make(x.dtype(), dims);
  if (!out || out->count() == 0)
    return out;
  if (std::ranges::all_of(step, [](int64_t s) { return s == 1; })) {
    std::vector<PadRange> ranges;
    for (size_t i = 0; i < rank; ++i)
      ranges.push_back({first[i], count[i], skipped[i]});
    copyPadded(nullptr, x, ranges, filler.raw(), *out);
    return out;
  }
  fillElements(out->dtype(), out->raw(), filler.raw(), out->count());
  if (std::ranges::find(count, 0) != count.end())
    return out;
  std::vector<int64_t> to = strides(dims), from = strides(x.dims());
  int64_t toOffset = 0, fromOffset = 0;
  for (size_t i = 0; i < rank; ++i) {
    toOffset += first[i] * to[i];
    fromOffset += skipped[i] * from[i];
    to[i] *= step[i];
  }
  size_t size = dtypeSize(x.dtype());
  copy(size, count, static_cast<char *>(out->raw()) + toOffset * static_cast<int64_t>(size), to,
       static_cast<const char *>(x.raw()) + fromOffset * static_cast<int64_t>(size), from);
  return out;
}

Expected<Tensor> along(const Tensor &x, int axis, int64_t start, int64_t count, int64_t step) {
  std::vector<int64_t> dims = dimsOf(x), from = strides(x.dims());
  int64_t offset = start * from[axis];
  dims[axis] = count;
  if (axis == 0 && step == 1)
    return x.view(offset, dims);
  if (start == 0 && step == 1 && count == x.dim(axis))
    return x;
  Expected<Tensor> out = Tensor::make(x.dtype(), dims);
  if (!out || out->count() == 0)
    return out;
  from[axis] *= step;
  size_t size = dtypeSize(x.dtype());
  copy(size, dims, out->raw(), strides(dims),
       static_cast<const char *>(x.raw()) + offset * static_cast<int64_t>(size), from);
  return out;
}

Expected<Tensor> stacked(const Tensor &a, const Tensor &b) {
  std::vector<int64_t> dims = dimsOf(a);
  dims[0] += b.dim(0);
  Tensor out = TREADLE_TRY(Tensor::make(a.dtype(), dims));
  auto *to = static_cast<char *>(out.raw());
  if (a.count())
    std::memcpy(to, a.raw(), a.bytes());
  if (b.count())
    std::memcpy(to + a.bytes(), b.raw(), b.bytes());
  return out;
}

} // namespace treadle::rearrange
