// Copies of elements of any type: ops that only move elements (concat, slice, transpose, ...) are
// written once for all dtypes with these functions.
#pragma once

#include "treadle/tensor/Resource.h"
#include "treadle/tensor/Tensor.h"

#include <string>
#include <vector>

namespace treadle {

class OpContext;

/// Dimensions, strides or indices of one tensor. Doesn't allocate up to rank 8.
class DimVector {
public:
  static constexpr size_t inlineSize = 8;

  DimVector() = default;
  explicit DimVector(size_t size, int64_t value = 0) {
    for (size_t i = 0; i < size; ++i)
      push(value);
  }
  DimVector(Dims dims) {
    for (int64_t d : dims)
      push(d);
  }

  void push(int64_t value) {
    if (length < inlineSize) {
      small[length++] = value;
      return;
    }
    if (length == inlineSize)
      large.assign(small, small + inlineSize);
    large.push_back(value);
    ++length;
  }
  size_t size() const { return length; }
  int64_t *data() { return length <= inlineSize ? small : large.data(); }
  const int64_t *data() const { return length <= inlineSize ? small : large.data(); }
  int64_t &operator[](size_t i) { return data()[i]; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t *begin() { return data(); }
  int64_t *end() { return data() + length; }
  const int64_t *begin() const { return data(); }
  const int64_t *end() const { return data() + length; }
  operator Dims() const { return {data(), length}; }

private:
  size_t length = 0;
  int64_t small[inlineSize];
  std::vector<int64_t> large; // all of them, if there are more than `inlineSize`
};

/// Returns element `i` of an integer tensor of any width, such as sizes, axes and indices.
int64_t indexAt(const Tensor &tensor, int64_t i);
/// Returns all elements of an integer tensor.
DimVector readIndices(const Tensor &tensor);

/// Returns the product of dims[first, last). The dims must be those of an existing tensor, so that
/// the product can't overflow.
inline int64_t countBetween(Dims dims, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t i = first; i < last; ++i)
    count *= dims[i];
  return count;
}

/// Returns the row-major strides, in elements.
DimVector rowMajorStrides(Dims dims);

/// Maps an axis in [-rank, rank) to [0, rank); returns -1 if it is out of range.
inline int64_t normalizedAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return -1;
  return axis < 0 ? axis + rank : axis;
}

/// N bytes that are copied as one element.
template <size_t N> struct alignas(N > 8 ? 8 : N) Chunk {
  unsigned char bytes[N];
};

/// Calls `visit.template operator()<T>()` with a T by which elements of `dtype` can be assigned: a
/// chunk of their size, or the type itself for strings, resources and variants.
template <typename Visitor> decltype(auto) visitMoved(DType dtype, Visitor &&visit) {
  switch (dtype) {
  case DType::String:
    return visit.template operator()<std::string>();
  case DType::Resource:
    return visit.template operator()<ResourceHandle>();
  case DType::Variant:
    return visit.template operator()<Variant>();
  default:
    break;
  }
  switch (dtypeSize(dtype)) {
  case 1:
    return visit.template operator()<Chunk<1>>();
  case 2:
    return visit.template operator()<Chunk<2>>();
  case 4:
    return visit.template operator()<Chunk<4>>();
  case 8:
    return visit.template operator()<Chunk<8>>();
  default:
    return visit.template operator()<Chunk<16>>();
  }
}

/// Copies dst[0, count) = src[0, count). Both have dtype `dtype` and must not overlap.
void copyElements(DType dtype, void *dst, const void *src, int64_t count);
/// Sets dst[0, count) = *value.
void fillElements(DType dtype, void *dst, const void *value, int64_t count);
/// Sets dst[0, count) to zero (to an empty string or handle).
void zeroElements(DType dtype, void *dst, int64_t count);

/// Returns the address of element `i`.
inline void *elementAt(DType dtype, void *base, int64_t i) {
  return static_cast<char *>(base) + i * static_cast<int64_t>(dtypeSize(dtype));
}
inline const void *elementAt(DType dtype, const void *base, int64_t i) {
  return static_cast<const char *>(base) + i * static_cast<int64_t>(dtypeSize(dtype));
}

/// Copies `count` rows of `width` elements, which lie `dstStride` and `srcStride` elements apart.
void copyRows(DType dtype, void *dst, int64_t dstStride, const void *src, int64_t srcStride,
              int64_t count, int64_t width);

/// Copies dst[i . dstStrides] = src[i . srcStrides] for every index i of `dims`. Strides are in
/// elements and may be negative; those of the source may be zero.
void copyStrided(DType dtype, Dims dims, void *dst, Dims dstStrides, const void *src,
                 Dims srcStrides);
/// Like the overload above, but on the run's threads.
void copyStrided(OpContext &ctx, DType dtype, Dims dims, void *dst, Dims dstStrides,
                 const void *src, Dims srcStrides);

} // namespace treadle
