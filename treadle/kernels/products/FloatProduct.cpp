#include "treadle/kernels/products/FloatProduct.h"

#include "treadle/kernels/products/Tile.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/ThreadPool.h"

#include <algorithm>

namespace treadle {

/// Minimum number of rows: packing costs as much as multiplying a few rows.
constexpr int64_t minRows = 3;

bool shouldPack(const Product &p) {
  constexpr int64_t minColumns = 8, minProducts = 16384;
  return p.m >= minRows && p.n >= minColumns && p.m * p.n * p.k >= minProducts;
}

namespace {

bool multiply(OpContext &ctx, int64_t rows, int64_t columns, int64_t depth, const FloatMatrix &a,
              const FloatMatrix &b, const PackedResult &out) {
  if (rows == 0 || columns == 0)
    return true;
  auto packed = PackedMatrix::make(ctx, depth, columns, b);
  if (packed)
    multiplyPacked(ctx, rows, a, *packed, out);
  return packed != nullptr;
}

/// The submatrix that begins at element (row, column).
FloatMatrix from(const FloatMatrix &m, int64_t row, int64_t column) {
  return {m.data + (m.isTransposed ? column * m.stride + row : row * m.stride + column), m.stride,
          m.isTransposed};
}

/// Multiplies row by row, without copying anything.
void multiplyRowByRow(int64_t rows, int64_t columns, int64_t depth, const FloatMatrix &a,
                      const FloatMatrix &b, const PackedResult &out) {
  using Row = Eigen::Map<const Eigen::VectorXf>;
  for (int64_t r = 0; r < rows; ++r) {
    const float *first = from(a, r, 0).data;
    const Eigen::Map<const Eigen::VectorXf, 0, Eigen::InnerStride<>> left(
        first, depth, Eigen::InnerStride<>(a.isTransposed ? a.stride : 1));
    float *to = out.data + r * out.stride;
    if (!out.adds)
      std::fill_n(to, columns, 0.0F);
    if (b.isTransposed)
      for (int64_t c = 0; c < columns; ++c) {
        Row right(b.data + c * b.stride, depth);
        to[c] += a.isTransposed ? left.dot(right) : Row(first, depth).dot(right);
      }
    else
      for (int64_t i = 0; i < depth; ++i)
        Eigen::Map<Eigen::VectorXf>(to, columns) += left[i] * Row(b.data + i * b.stride, columns);
  }
}

constexpr int64_t columnsOfBlock = 64;

/// Multiplies few rows by one packed block of the right operand after another, which stays in the
/// cache after packing.
void multiplyByBlocks(OpContext &ctx, const Product &p, const FloatMatrix &left,
                      const FloatMatrix &right, const PackedResult &out) {
  constexpr int64_t depthOfBlock = 3 * elementsOfSum;
  double cost = nsPerTileProduct * static_cast<double>(p.m * columnsOfBlock * p.k);
  ctx.parallelFor(
      (p.n + columnsOfBlock - 1) / columnsOfBlock, cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t column = i * columnsOfBlock, columns = std::min(columnsOfBlock, p.n - column);
          auto multiply = [&](int64_t first, int64_t last, const PackedResult &to) {
            for (int64_t k = first; k < last; k += depthOfBlock)
              multiplyFloats(p.m, columns, std::min(depthOfBlock, last - k), from(left, 0, k),
                             from(right, k, column),
                             {.data = to.data, .stride = to.stride, .adds = to.adds || k > first});
          };
          multiplyByHalves(0, p.k, p.m, columns,
                           {.data = out.data + column, .stride = out.stride, .adds = out.adds},
                           multiply);
          if (out.epilogue)
            out.epilogue->apply(out.data, 0, p.m, column, columns);
        }
      });
}

} // namespace

void multiplyFloats(OpContext &ctx, const Product &p, const float *a, const float *b,
                    const PackedResult &out) {
  constexpr int64_t fewRows = 192;
  const FloatMatrix left = leftOf(p, a), right = rightOf(p, b);
  int64_t threads = ctx.pool() ? ctx.pool()->numWorkers() + 1 : 1;
  if (p.m <= fewRows && p.n >= threads * columnsOfBlock)
    return multiplyByBlocks(ctx, p, left, right, out);
  if (!multiply(ctx, p.m, p.n, p.k, left, right, out))
    ctx.fail(resourceExhausted("out of memory for a packed copy of a matrix of ", p.k, " x ", p.n,
                               " numbers"));
}

void multiplyFloats(int64_t rows, int64_t columns, int64_t depth, const FloatMatrix &a,
                    const FloatMatrix &b, const PackedResult &out) {
  Execution alone; // no run: works on this thread only
  bool hasFewRows = rows < minRows && !a.isTransposed;
  if (hasFewRows || depth == 0 || !multiply(alone, rows, columns, depth, a, b, out))
    multiplyRowByRow(rows, columns, depth, a, b, out);
}

} // namespace treadle
