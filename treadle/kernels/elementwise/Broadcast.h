// Broadcasting of several operands: dimensions are aligned at the right, and dimensions of size 1
// repeat.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <array>

namespace treadle {

/// The result's shape, and the operands' strides along as few loops as possible: adjacent
/// dimensions along which each operand either advances or repeats are merged into one loop. Large,
/// but only the entries below `rank` and `loops` are ever touched.
template <int N> struct BroadcastPlan {
  static constexpr int maxRank = 254;
  int rank = 0;
  int loops = 0;              // at least 1
  int64_t count = 1;          // of the result; -1 if it overflows
  int64_t dims[maxRank];      // of the result
  int64_t size[maxRank];      // of loop i, outermost first
  int64_t stride[N][maxRank]; // of operand k along loop i, in elements; 0 if it repeats
  Dims resultDims() const { return {dims, static_cast<size_t>(rank)}; }
};

/// Computes `plan`; returns false if the shapes don't broadcast.
template <int N> bool planBroadcast(const std::array<Dims, N> &operands, BroadcastPlan<N> &plan);
extern template bool planBroadcast<2>(const std::array<Dims, 2> &, BroadcastPlan<2> &);
extern template bool planBroadcast<3>(const std::array<Dims, 3> &, BroadcastPlan<3> &);

template <int N, typename Row>
void forEachRow(const BroadcastPlan<N> &plan, int64_t first, int64_t last, Row &&row);

/// Calls `row(offsets, begin)` for each run of the innermost loop, in the order of the result:
/// `offsets` are the operands' first elements, `begin` is the result's.
template <int N, typename Row> void forEachRow(const BroadcastPlan<N> &plan, Row &&row) {
  if (plan.count > 0)
    forEachRow<N>(plan, 0, plan.count / plan.size[plan.loops - 1], row);
}

/// Like the overload above, but for rows [first, last), which must not be empty.
template <int N, typename Row>
void forEachRow(const BroadcastPlan<N> &plan, int64_t first, int64_t last, Row &&row) {
  int outer = plan.loops - 1;
  int64_t rowLength = plan.size[outer];
  int64_t at[BroadcastPlan<N>::maxRank];
  std::array<int64_t, N> offsets{};
  for (int64_t d = outer - 1, rest = first; d >= 0; rest /= plan.size[d--]) {
    at[d] = rest % plan.size[d];
    for (int k = 0; k < N; ++k)
      offsets[k] += plan.stride[k][d] * at[d];
  }
  for (int64_t begin = first * rowLength, end = last * rowLength;; begin += rowLength) {
    row(offsets, begin);
    if (begin + rowLength == end)
      return;
    int d = outer - 1;
    for (; d >= 0; --d) {
      for (int k = 0; k < N; ++k)
        offsets[k] += plan.stride[k][d];
      if (++at[d] < plan.size[d])
        break;
      for (int k = 0; k < N; ++k)
        offsets[k] -= plan.stride[k][d] * plan.size[d];
      at[d] = 0;
    }
    if (d < 0)
      return;
  }
}

} // namespace treadle
