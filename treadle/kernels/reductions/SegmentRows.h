// Row operations of the segment ops, per operation and dtype. The ops themselves are independent of
// element types. Used by the sorted, the unsorted and the sparse segment ops.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <limits>

namespace treadle {

enum class SegmentKind : uint8_t { Sum, Prod, Max, Min, Mean, SqrtN };

/// Combines `into[i]` with `from[i]`, for `n` elements.
using CombineRow = void (*)(void *into, const void *from, int64_t n);
/// Fills in the value of an empty segment.
using FillRow = void (*)(void *into, int64_t n);
/// Computes `into[i] / by`; integers are truncated.
using DivideRow = void (*)(void *into, int64_t n, double by);
/// Computes `into[i] += from[i] * factor`.
using AddScaledRow = void (*)(void *into, const void *from, int64_t n, double factor);

struct SegmentRows {
  SegmentKind kind;
  size_t size; // bytes per element
  CombineRow combine;
  FillRow fill;
  DivideRow divide;
  AddScaledRow addScaled; // floats only
};

/// Sets `rows`; returns false if the dtype isn't supported. `fillsWithLimits`: the maximum of an
/// empty segment is the lowest value, as in the unsorted ops, instead of 0.
bool segmentRowsFor(SegmentKind kind, DType dtype, bool fillsWithLimits, SegmentRows &rows);

/// Segment ids or indices of any integer type.
class IdList {
public:
  explicit IdList(const Tensor &t) : data(t.raw()), dtype(t.dtype()) {}
  int64_t operator[](int64_t i) const {
    switch (dtype) {
    case DType::Int32:
      return at<int32_t>(i);
    case DType::Int16:
      return at<int16_t>(i);
    case DType::UInt16:
      return at<uint16_t>(i);
    case DType::Int8:
      return at<int8_t>(i);
    case DType::UInt8:
      return at<uint8_t>(i);
    default:
      return at<int64_t>(i);
    }
  }

private:
  template <typename T> int64_t at(int64_t i) const { return static_cast<const T *>(data)[i]; }

  const void *data;
  DType dtype;
};

/// Returns the number of segments of `n` sorted ids: one more than the last id, saturated.
inline int64_t segmentsOf(const IdList &ids, int64_t n) {
  return n ? std::min(ids[n - 1], std::numeric_limits<int64_t>::max() - 1) + 1 : 0;
}

} // namespace treadle
