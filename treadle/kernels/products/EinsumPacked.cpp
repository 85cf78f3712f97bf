// Einsums of floats as packed matrix products: rows, columns and summed elements are addressed by
// offsets, so that neither operands nor results are copied to another order.
#include "treadle/kernels/products/EinsumAxes.h"

#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/products/PackedProduct.h"
#include "treadle/runtime/Execution.h"

#include <atomic>
#include <functional>
#include <numeric>

namespace treadle::einsum {
namespace {

using StrideOf = std::function<int64_t(const Axis &)>;

StrideOf strideIn(int operand) {
  return [operand](const Axis &axis) { return axis.stride[operand]; };
}
int64_t strideInResult(const Axis &axis) { return axis.outStride; }

/// Axes of more than one element, outermost first.
std::vector<const Axis *> ordered(const AxisList &list, const StrideOf &stride) {
  std::vector<const Axis *> out;
  std::ranges::copy_if(list.axes, std::back_inserter(out),
                       [](const Axis *axis) { return axis->size != 1; });
  std::ranges::sort(out, std::greater(), [&](const Axis *axis) { return stride(*axis); });
  return out;
}

using AxisSpan = std::span<const Axis *const>;

/// Offsets of all elements along the axes; the last axis varies fastest.
std::vector<int64_t> offsetsOf(AxisSpan axes, const StrideOf &stride) {
  std::vector<int64_t> out = {0};
  for (const Axis *axis : axes) {
    std::vector<int64_t> next;
    next.reserve(out.size() * static_cast<size_t>(axis->size));
    for (int64_t at : out)
      for (int64_t i = 0; i < axis->size; ++i)
        next.push_back(at + i * stride(*axis));
    out = std::move(next);
  }
  return out;
}

/// Number of trailing axes that are contiguous to each other and can be addressed as one.
size_t countJoined(AxisSpan axes, const StrideOf &stride) {
  size_t joined = axes.empty() ? 0 : 1;
  while (joined < axes.size()) {
    const Axis &outer = *axes[axes.size() - joined - 1], &inner = *axes[axes.size() - joined];
    if (stride(outer) != stride(inner) * inner.size)
      break;
    ++joined;
  }
  return joined;
}

int64_t countOf(AxisSpan axes) {
  return std::accumulate(axes.begin(), axes.end(), int64_t(1),
                         [](int64_t n, const Axis *axis) { return n * axis->size; });
}

/// A product with `left` and `right` as operand indices: rows of the result are the free axes of
/// the left operand; columns, which must be contiguous, those of the right one.
class PackedEinsum {
public:
  PackedEinsum(const ProductAxes &axes, int left)
      : left(left), rows(ordered(left == 0 ? axes.freeA : axes.freeB, strideInResult)),
        columns(ordered(left == 0 ? axes.freeB : axes.freeA, strideInResult)),
        summed(ordered(axes.summed, strideIn(left))), batch(ordered(axes.batch, strideInResult)) {}

  bool isInPlace() const {
    return !columns.empty() && columns.back()->outStride == 1 &&
           countJoined(columns, strideInResult) == columns.size() &&
           countJoined(rows, strideInResult) == rows.size();
  }
  /// Packing costs as much as multiplying a few rows.
  bool isProfitable() const {
    return countOf(rows) >= 4 && countOf(columns) >= 8 && countOf(summed) >= 8;
  }

  bool multiply(OpContext &ctx, const Tensor &a, const Tensor &b, Tensor &out,
                const PackedWeights &weights) const;

private:
  int left;
  std::vector<const Axis *> rows, columns, summed, batch;
};

bool PackedEinsum::multiply(OpContext &ctx, const Tensor &a, const Tensor &b, Tensor &out,
                            const PackedWeights &weights) const {
  const Tensor &l = left == 0 ? a : b, &r = left == 0 ? b : a;
  StrideOf inLeft = strideIn(left), inRight = strideIn(1 - left);
  AxisSpan sums(summed);
  size_t joined = countJoined(sums, inLeft);
  std::vector<int64_t> segments = offsetsOf(sums.first(sums.size() - joined), inLeft);
  PackedLeft form{segments, countOf(sums.last(joined)), joined ? inLeft(*sums.back()) : 1};
  std::vector<int64_t> rowOffsets = offsetsOf(rows, inLeft), depth = offsetsOf(summed, inRight),
                       columnOffsets = offsetsOf(columns, inRight);
  int64_t count = std::ssize(rowOffsets), stride = rows.empty() ? 0 : rows.back()->outStride;

  auto pack = [&](OpContext &c, int64_t at) {
    return PackedMatrix::make(c, {r.data<float>() + at, depth, columnOffsets});
  };
  auto multiplyOne = [&](OpContext &c, const PackedMatrix &packed, int64_t at, int64_t outAt) {
    const float *first = l.data<float>() + at;
    multiplyPacked(c, count,
                   [&](int64_t row) { return first + rowOffsets[static_cast<size_t>(row)]; }, form,
                   packed, {out.data<float>() + outAt, stride});
  };
  if (batch.empty()) {
    auto packed = weights.find(r, [&] { return pack(ctx, 0); });
    if (!packed)
      packed = pack(ctx, 0);
    if (packed)
      multiplyOne(ctx, *packed, 0, 0);
    return packed != nullptr;
  }
  std::vector<int64_t> lefts = offsetsOf(batch, inLeft), rights = offsetsOf(batch, inRight),
                       results = offsetsOf(batch, strideInResult);
  std::atomic<bool> isDone{true};
  double cost = costOfProduct * static_cast<double>(count) *
                static_cast<double>(depth.size() * columnOffsets.size());
  ctx.parallelFor(std::ssize(results), cost, [&](int64_t begin, int64_t end) {
    Execution alone; // no run: works on this thread only
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      if (auto packed = pack(alone, rights[i]))
        multiplyOne(alone, *packed, lefts[i], results[i]);
      else
        isDone = false;
  });
  return isDone;
}

} // namespace

bool multiplyInPlace(OpContext &ctx, const ProductAxes &axes, const Tensor &a, const Tensor &b,
                     Tensor &out, const PackedWeights &weights) {
  for (int left : {0, 1}) {
    PackedEinsum product(axes, left);
    if (product.isInPlace())
      return product.isProfitable() && product.multiply(ctx, a, b, out, weights);
  }
  return false;
}

} // namespace treadle::einsum
