// Row functions of the segment ops.
#include "treadle/kernels/reductions/SegmentRows.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <cmath>
#include <limits>

namespace treadle {
namespace {

template <typename T> struct SumOf {
  static T combine(T a, T b) { return static_cast<T>(Widened<T>(a) + Widened<T>(b)); }
};
template <typename T> struct ProductOf {
  static T combine(T a, T b) { return static_cast<T>(Widened<T>(a) * Widened<T>(b)); }
};
// NaN propagates from either side.
template <typename T> struct MaximumOf {
  static T combine(T a, T b) { return a < b || b != b ? b : a; }
};
template <typename T> struct MinimumOf {
  static T combine(T a, T b) { return b < a || b != b ? b : a; }
};

template <typename Op, typename T> void combineRow(void *into, const void *from, int64_t n) {
  T *a = static_cast<T *>(into);
  const T *b = static_cast<const T *>(from);
  for (int64_t i = 0; i < n; ++i)
    a[i] = Op::combine(a[i], b[i]);
}

template <typename T, int value> void fillRow(void *into, int64_t n) {
  std::fill_n(static_cast<T *>(into), n, T(value));
}
template <typename T, bool isHighest> void fillRowWithLimit(void *into, int64_t n) {
  using Limits = std::numeric_limits<T>;
  std::fill_n(static_cast<T *>(into), n, isHighest ? Limits::max() : Limits::lowest());
}

template <typename T> void divideRow(void *into, int64_t n, double by) {
  T *a = static_cast<T *>(into);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (isComplexType<T>)
      a[i] /= static_cast<typename T::value_type>(by);
    else if constexpr (std::is_unsigned_v<T>) // as 64 bits: the number of rows may exceed T
      a[i] = static_cast<T>(a[i] / static_cast<uint64_t>(by));
    else if constexpr (std::is_integral_v<T>)
      a[i] = static_cast<T>(a[i] / static_cast<int64_t>(by));
    else
      a[i] = T(Computed<T>(a[i]) / static_cast<Computed<T>>(by));
  }
}

template <typename T> void addScaledRow(void *into, const void *from, int64_t n, double factor) {
  T *a = static_cast<T *>(into);
  const T *b = static_cast<const T *>(from);
  const auto f = static_cast<Computed<T>>(factor);
  for (int64_t i = 0; i < n; ++i)
    a[i] = T(Computed<T>(a[i]) + Computed<T>(b[i]) * f);
}

template <typename T> bool fillLimits(SegmentKind kind, bool fillsWithLimits, SegmentRows &rows) {
  if constexpr (isComplexType<T>) {
    return false;
  } else {
    rows.combine =
        kind == SegmentKind::Max ? combineRow<MaximumOf<T>, T> : combineRow<MinimumOf<T>, T>;
    rows.fill = fillRow<T, 0>;
    if (fillsWithLimits)
      rows.fill = kind == SegmentKind::Max ? fillRowWithLimit<T, false> : fillRowWithLimit<T, true>;
    return true;
  }
}

// Signed integers share the sums and products of the unsigned types.
template <typename T> bool rowsOf(SegmentKind kind, bool fillsWithLimits, SegmentRows &rows) {
  using W = Wrapping<T>;
  rows.size = sizeof(T);
  rows.divide = divideRow<T>;
  rows.addScaled = nullptr;
  if constexpr (isRealFloat<T>)
    rows.addScaled = addScaledRow<T>;
  switch (kind) {
  case SegmentKind::Prod:
    rows.combine = combineRow<ProductOf<W>, W>;
    rows.fill = fillRow<W, 1>;
    return true;
  case SegmentKind::Max:
  case SegmentKind::Min:
    return fillLimits<T>(kind, fillsWithLimits, rows);
  default:
    rows.combine = combineRow<SumOf<W>, W>;
    rows.fill = fillRow<W, 0>;
    return true;
  }
}

} // namespace

bool segmentRowsFor(SegmentKind kind, DType dtype, bool fillsWithLimits, SegmentRows &rows) {
  rows.kind = kind;
  bool isDone = false;
  return visitType(dtype, NumericTypes(),
                   [&]<typename T>() { isDone = rowsOf<T>(kind, fillsWithLimits, rows); }) &&
         isDone;
}

} // namespace treadle
