// Copies of elements that depend only on the element size: contiguous, and between any two strided
// layouts.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/products/TransposeFloats.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/ThreadPool.h"

#include <algorithm>

namespace treadle {
namespace {

// A strided copy, normalized: dimensions of size 1 are dropped, and adjacent dimensions are merged
// if both sides allow it.
struct Layout {
  DimVector dims, dst, src;

  Layout(Dims allDims, Dims dstStrides, Dims srcStrides) {
    for (size_t i = 0; i < allDims.size(); ++i) {
      if (allDims[i] == 1)
        continue;
      size_t last = dims.size() - 1; // wraps if dims is empty: not used then
      if (dims.size() && dst[last] == dstStrides[i] * allDims[i] &&
          src[last] == srcStrides[i] * allDims[i]) {
        dims[last] *= allDims[i];
        dst[last] = dstStrides[i];
        src[last] = srcStrides[i];
        continue;
      }
      dims.push(allDims[i]);
      dst.push(dstStrides[i]);
      src.push(srcStrides[i]);
    }
    if (!dims.size()) {
      dims.push(1);
      dst.push(1);
      src.push(1);
    }
    moveContiguousDimInward();
  }

  /// If the innermost dimension of the result is strided in the source, moves the dimension that is
  /// contiguous in the source next to it. The order of the other dimensions doesn't matter.
  void moveContiguousDimInward() {
    size_t last = dims.size() - 1;
    if (dst[last] != 1 || src[last] <= 1)
      return;
    for (size_t d = 0; d + 1 < last; ++d)
      if (src[d] == 1)
        for (DimVector *of : {&dims, &dst, &src})
          std::swap((*of)[d], (*of)[last - 1]);
  }
};

template <typename T>
void copyRow(T *dst, int64_t dstStride, const T *src, int64_t srcStride, int64_t count) {
  if (dstStride == 1 && srcStride == 1)
    std::copy_n(src, count, dst);
  else if (dstStride == 1 && srcStride == 0)
    std::fill_n(dst, count, *src);
  else
    for (int64_t i = 0; i < count; ++i)
      dst[i * dstStride] = src[i * srcStride];
}

// Copies two dimensions of which the source is contiguous in the outer one, i.e. transposes them,
// in blocks that fit the cache; blocks of four-byte elements are transposed in registers.
template <typename T>
void copyTransposed(T *dst, const T *src, int64_t rows, int64_t columns, int64_t dstRowStride,
                    int64_t srcColumnStride) {
  constexpr int64_t side = 16;
  if constexpr (sizeof(T) == sizeof(float) && std::is_trivially_copyable_v<T>) {
    // Each block reads a few cache lines from each row of the source and one from the result.
    constexpr int64_t height = 64, widest = 4096;
    const int64_t width = rows < side ? widest : side;
    for (int64_t r = 0; r < rows; r += height)
      for (int64_t c = 0; c < columns; c += width)
        transposeFloats(reinterpret_cast<const float *>(src + c * srcColumnStride + r),
                        srcColumnStride, std::min(width, columns - c), std::min(height, rows - r),
                        reinterpret_cast<float *>(dst + r * dstRowStride + c),
                        [&](int64_t row) { return row * dstRowStride; });
    return;
  }
  for (int64_t r0 = 0; r0 < rows; r0 += side)
    for (int64_t c0 = 0; c0 < columns; c0 += side)
      for (int64_t r = r0, rEnd = std::min(rows, r0 + side); r < rEnd; ++r)
        for (int64_t c = c0, cEnd = std::min(columns, c0 + side); c < cEnd; ++c)
          dst[r * dstRowStride + c] = src[c * srcColumnStride + r];
}

template <typename T> void copyLayout(const Layout &layout, T *dst, const T *src) {
  size_t rank = layout.dims.size();
  bool isTransposed = rank >= 2 && layout.dst[rank - 1] == 1 && layout.src[rank - 2] == 1 &&
                      layout.src[rank - 1] > 1;
  size_t outer = rank - (isTransposed ? 2 : 1);
  DimVector index(outer);
  for (;;) {
    if (isTransposed)
      copyTransposed(dst, src, layout.dims[rank - 2], layout.dims[rank - 1], layout.dst[rank - 2],
                     layout.src[rank - 1]);
    else
      copyRow(dst, layout.dst[rank - 1], src, layout.src[rank - 1], layout.dims[rank - 1]);
    size_t d = outer;
    for (; d > 0; --d) {
      dst += layout.dst[d - 1];
      src += layout.src[d - 1];
      if (++index[d - 1] < layout.dims[d - 1])
        break;
      dst -= layout.dst[d - 1] * layout.dims[d - 1];
      src -= layout.src[d - 1] * layout.dims[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

} // namespace

int64_t indexAt(const Tensor &tensor, int64_t i) {
  switch (tensor.dtype()) {
  case DType::Int32:
    return tensor.data<int32_t>()[i];
  case DType::Int64:
    return tensor.data<int64_t>()[i];
  case DType::Int16:
    return tensor.data<int16_t>()[i];
  case DType::Int8:
    return tensor.data<int8_t>()[i];
  case DType::UInt8:
    return tensor.data<uint8_t>()[i];
  case DType::UInt16:
    return tensor.data<uint16_t>()[i];
  case DType::UInt32:
    return tensor.data<uint32_t>()[i];
  case DType::UInt64:
    return static_cast<int64_t>(tensor.data<uint64_t>()[i]);
  default:
    return 0;
  }
}

DimVector readIndices(const Tensor &tensor) {
  DimVector out;
  for (int64_t i = 0; i < tensor.count(); ++i)
    out.push(indexAt(tensor, i));
  return out;
}

DimVector rowMajorStrides(Dims dims) {
  DimVector strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

void copyElements(DType dtype, void *dst, const void *src, int64_t count) {
  if (isPlain(dtype)) {
    if (count > 0)
      std::memcpy(dst, src, static_cast<size_t>(count) * dtypeSize(dtype));
    return;
  }
  visitMoved(dtype, [&]<typename T>() {
    std::copy_n(static_cast<const T *>(src), count, static_cast<T *>(dst));
  });
}

void copyRows(DType dtype, void *dst, int64_t dstStride, const void *src, int64_t srcStride,
              int64_t count, int64_t width) {
  visitMoved(dtype, [&]<typename T>() {
    auto *to = static_cast<T *>(dst);
    auto *from = static_cast<const T *>(src);
    constexpr int64_t widestLoop = 8; // a call of memcpy costs as much
    if (width == 1)
      for (int64_t r = 0; r < count; ++r)
        to[r * dstStride] = from[r * srcStride];
    else if (width <= widestLoop)
      for (int64_t r = 0; r < count; ++r)
        for (int64_t i = 0; i < width; ++i)
          to[r * dstStride + i] = from[r * srcStride + i];
    else
      for (int64_t r = 0; r < count; ++r)
        std::copy_n(from + r * srcStride, width, to + r * dstStride);
  });
}

void fillElements(DType dtype, void *dst, const void *value, int64_t count) {
  visitMoved(dtype, [&]<typename T>() {
    std::fill_n(static_cast<T *>(dst), count, *static_cast<const T *>(value));
  });
}

void zeroElements(DType dtype, void *dst, int64_t count) {
  if (isPlain(dtype)) {
    if (count > 0)
      std::memset(dst, 0, static_cast<size_t>(count) * dtypeSize(dtype));
    return;
  }
  visitMoved(dtype, [&]<typename T>() { std::fill_n(static_cast<T *>(dst), count, T()); });
}

void copyStrided(DType dtype, Dims dims, void *dst, Dims dstStrides, const void *src,
                 Dims srcStrides) {
  if (std::ranges::find(dims, 0) != dims.end())
    return;
  Layout layout(dims, dstStrides, srcStrides);
  visitMoved(dtype, [&]<typename T>() {
    copyLayout(layout, static_cast<T *>(dst), static_cast<const T *>(src));
  });
}

void copyStrided(OpContext &ctx, DType dtype, Dims dims, void *dst, Dims dstStrides,
                 const void *src, Dims srcStrides) {
  constexpr double nsPerElement = 0.4;
  if (dims.empty() || std::ranges::find(dims, 0) != dims.end())
    return copyStrided(dtype, dims, dst, dstStrides, src, srcStrides);
  auto cut = static_cast<size_t>(std::ranges::max_element(dims) - dims.begin());
  auto count = static_cast<double>(countBetween(dims, 0, dims.size()));
  // Parts have equal sizes so that one layout serves all of them.
  int64_t threads = ctx.pool() ? ctx.pool()->numWorkers() + 1 : 1;
  int64_t perPart = (dims[cut] + threads - 1) / threads;
  int64_t parts = (dims[cut] + perPart - 1) / perPart;
  double cost = nsPerElement * count / static_cast<double>(parts);
  ctx.parallelFor(parts, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      DimVector part(dims);
      part[cut] = std::min(perPart, dims[cut] - i * perPart);
      copyStrided(dtype, part, elementAt(dtype, dst, i * perPart * dstStrides[cut]), dstStrides,
                  elementAt(dtype, src, i * perPart * srcStrides[cut]), srcStrides);
    }
  });
}

} // namespace treadle
