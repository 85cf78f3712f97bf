// What segment ops do to rows of elements, per operation and dtype; the ops themselves don't know
// element types. Used by the sorted, the unsorted and the sparse segment ops.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <limits>

namespace treadle {

enum class SegmentKind : uint8_t { Sum, Prod, Max, Min, Mean, SqrtN };

/// `into[i]` combined with `from[i]`, for `n` elements.
using CombineRow = void (*)(void *into, const void *from, int64_t n);
/// The value of a segment that no row belongs to.
using FillRow = void (*)(void *into, int64_t n);
/// `into[i] / by`; integers are truncated.
using DivideRow = void (*)(void *into, int64_t n, double by);
/// `into[i] += from[i] * factor`.
using AddScaledRow = void (*)(void *into, const void *from, int64_t n, double factor);

struct SegmentRows {
  SegmentKind kind;
  size_t size; // of an element
  CombineRow combine;
  FillRow fill;
  DivideRow divide;
  AddScaledRow addScaled; // floats only
};

/// False where there is no kernel for the dtype. `fillsWithLimits`: an empty segment's maximum is
/// the lowest value, as unsorted ops have it, not 0.
bool segmentRowsFor(SegmentKind kind, DType dtype, bool fillsWithLimits, SegmentRows &rows);

/// Segment ids or indices, of any integer type.
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

/// How many segments `n` sorted ids have: more than any memory, where the last id is the largest
/// integer.
inline int64_t segmentsOf(const IdList &ids, int64_t n) {
  return n ? std::min(ids[n - 1], std::numeric_limits<int64_t>::max() - 1) + 1 : 0;
}

} // namespace treadle
