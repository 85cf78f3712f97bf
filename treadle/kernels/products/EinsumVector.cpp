// Einsums of floats with one operand that is a vector or a batch of vectors: matrix and vector are
// multiplied in place.
#include "treadle/kernels/products/EinsumAxes.h"

#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/products/VectorProduct.h"

#include <array>
#include <optional>

namespace treadle::einsum {
namespace {

/// Merges the axes into one; nullopt if their strides don't allow it.
std::optional<Axis> mergedAxis(const AxisList &list, int operand) {
  std::vector<Axis> axes;
  for (const Axis *axis : list.axes)
    if (axis->size != 1)
      axes.push_back(*axis);
  std::ranges::sort(axes, {}, [&](const Axis &axis) { return axis.stride[operand]; });
  Axis all = {.label = 0};
  for (const Axis &axis : axes) {
    if (all.size == 1) {
      all = axis;
      continue;
    }
    for (int i : {0, 1})
      if (axis.stride[i] != all.stride[i] * all.size)
        return std::nullopt;
    if (axis.outStride != all.outStride * all.size)
      return std::nullopt;
    all.size *= axis.size;
  }
  return all;
}

/// Offsets of operands 0 and 1 and of the result, for each element of the batch.
std::vector<std::array<int64_t, 3>> batchOffsets(const AxisList &batch) {
  std::vector<std::array<int64_t, 3>> out = {{0, 0, 0}};
  for (const Axis *axis : batch.axes) {
    std::vector<std::array<int64_t, 3>> next;
    next.reserve(out.size() * static_cast<size_t>(axis->size));
    for (const auto &at : out)
      for (int64_t i = 0; i < axis->size; ++i)
        next.push_back({at[0] + i * axis->stride[0], at[1] + i * axis->stride[1],
                        at[2] + i * axis->outStride});
    out = std::move(next);
  }
  return out;
}

/// Returns `count` elements with stride `step` as a contiguous array, copied to `copy` if needed.
const float *toContiguous(const float *from, int64_t step, int64_t count,
                          std::vector<float> &copy) {
  if (step == 1)
    return from;
  copy.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    copy[static_cast<size_t>(i)] = from[i * step];
  return copy.data();
}

} // namespace

bool multiplyVectors(OpContext &ctx, const ProductAxes &axes, const Tensor &a, const Tensor &b,
                     Tensor &out) {
  int matrix = axes.freeA.count == 1 ? 1 : 0;
  if (matrix == 0 && axes.freeB.count != 1)
    return false;
  auto rows = mergedAxis(matrix == 0 ? axes.freeA : axes.freeB, matrix);
  auto summed = mergedAxis(axes.summed, matrix);
  // fewer elements: a diagonal
  if (!rows || !summed || out.count() != axes.batch.count * rows->size)
    return false;
  int64_t rowStride = rows->stride[matrix], sumStride = summed->stride[matrix];
  bool hasRows = sumStride == 1 && (rows->size == 1 || rowStride >= summed->size);
  bool hasColumns = rowStride == 1 && (summed->size == 1 || sumStride >= rows->size);
  if (!hasRows && !hasColumns)
    return false;
  const Tensor &m = matrix == 0 ? a : b, &v = matrix == 0 ? b : a;
  auto begins = batchOffsets(axes.batch);
  int64_t vectorStride = summed->stride[1 - matrix], resultStride = rows->outStride;
  double cost = costOfProduct * static_cast<double>(rows->size * summed->size);
  ctx.parallelFor(std::ssize(begins), cost, [&](int64_t begin, int64_t end) {
    std::vector<float> vector, result(static_cast<size_t>(rows->size));
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const float *at = m.data<float>() + begins[i][static_cast<size_t>(matrix)];
      const float *x = toContiguous(v.data<float>() + begins[i][static_cast<size_t>(1 - matrix)],
                                    vectorStride, summed->size, vector);
      float *y = out.data<float>() + begins[i][2], *to = resultStride == 1 ? y : result.data();
      if (hasRows)
        multiplyRowsByVector(at, rowStride, rows->size, summed->size, x, to);
      else
        multiplyColumnsByVector(at, sumStride, rows->size, summed->size, x, to);
      for (int64_t r = 0; to != y && r < rows->size; ++r)
        y[r * resultStride] = to[r];
    }
  });
  return true;
}

} // namespace treadle::einsum
