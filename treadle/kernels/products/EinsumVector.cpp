// Einsums of floats whose one operand is a vector, or a batch of them: matrix and vector are
// multiplied where they lie.
#include "treadle/kernels/products/EinsumAxes.h"

#include "treadle/kernels/products/MatMul.h"

#include <array>
#include <optional>

namespace treadle::einsum {
namespace {

/// The axes as one, if that is how they lie wherever they are; nothing if they don't.
std::optional<Axis> joined(const AxisList &list, int operand) {
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

/// Where operands 0 and 1 and the result begin, for each element of the batch.
std::vector<std::array<int64_t, 3>> beginnings(const AxisList &batch) {
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

using Step = Eigen::InnerStride<>;
using Vector = Eigen::Map<const Eigen::VectorXf, 0, Step>;
using Result = Eigen::Map<Eigen::VectorXf, 0, Step>;
template <int order>
using Matrix = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, order>, 0,
                          Eigen::OuterStride<>>;

} // namespace

bool multiplyVectors(OpContext &ctx, const ProductAxes &axes, const Tensor &a, const Tensor &b,
                     Tensor &out) {
  int matrix = axes.freeA.count == 1 ? 1 : 0;
  if (matrix == 0 && axes.freeB.count != 1)
    return false;
  auto rows = joined(matrix == 0 ? axes.freeA : axes.freeB, matrix);
  auto summed = joined(axes.summed, matrix);
  if (!rows || !summed || out.count() != axes.batch.count * rows->size) // less: a diagonal
    return false;
  int64_t rowStride = rows->stride[matrix], sumStride = summed->stride[matrix];
  bool hasRows = sumStride == 1 && (rows->size == 1 || rowStride >= summed->size);
  bool hasColumns = rowStride == 1 && (summed->size == 1 || sumStride >= rows->size);
  if (!hasRows && !hasColumns)
    return false;
  const Tensor &m = matrix == 0 ? a : b, &v = matrix == 0 ? b : a;
  auto begins = beginnings(axes.batch);
  Step vectorStep(summed->stride[1 - matrix]), resultStep(rows->outStride);
  double cost = costOfProduct * static_cast<double>(rows->size * summed->size);
  ctx.parallelFor(std::ssize(begins), cost, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const float *at = m.data<float>() + begins[i][static_cast<size_t>(matrix)];
      Vector x(v.data<float>() + begins[i][static_cast<size_t>(1 - matrix)], summed->size,
               vectorStep);
      Result y(out.data<float>() + begins[i][2], rows->size, resultStep);
      if (hasRows)
        y.noalias() =
            Matrix<Eigen::RowMajor>(at, rows->size, summed->size, Eigen::OuterStride<>(rowStride)) *
            x;
      else
        y.noalias() =
            Matrix<Eigen::ColMajor>(at, rows->size, summed->size, Eigen::OuterStride<>(sumStride)) *
            x;
    }
  });
  return true;
}

} // namespace treadle::einsum
