// The framework of linear algebra ops: the last two dimensions are a matrix, all others batch
// dimensions.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <atomic>
#include <vector>

namespace treadle {

template <typename T>
using MatrixOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T> using MatrixMap = Eigen::Map<MatrixOf<T>>;
template <typename T> using ConstMatrixMap = Eigen::Map<const MatrixOf<T>>;

using MatrixTypes = TypeList<float, double, Complex64, Complex128>;

/// The shape of a tensor as a batch of matrices.
struct Matrices {
  int64_t batch = 1, rows = 0, columns = 0;
  std::vector<int64_t> batchDims;

  /// Returns false, with ctx failed, if the rank is less than 2.
  bool read(OpContext &ctx, const Tensor &t);
  /// Like `read`, and the matrices must be square.
  bool readSquare(OpContext &ctx, const Tensor &t);
  /// Returns the batch dimensions followed by `inner`.
  std::vector<int64_t> dimsWith(std::initializer_list<int64_t> inner) const;

  template <typename T> ConstMatrixMap<T> at(const Tensor &t, int64_t i) const {
    return {t.data<T>() + i * rows * columns, rows, columns};
  }
};

// Large algorithms are compiled only for double and complex double: each takes Eigen long to
// compile, and single precision gains accuracy.
template <typename T>
using Wide = std::conditional_t<Eigen::NumTraits<T>::IsComplex, std::complex<double>, double>;
template <typename T> using WideMatrix = Eigen::Matrix<Wide<T>, Eigen::Dynamic, Eigen::Dynamic>;

template <typename T> WideMatrix<T> widened(const Matrices &m, const Tensor &in, int64_t i) {
  return m.at<T>(in, i).template cast<Wide<T>>();
}

/// Returns matrix `i` of a tensor of matrices of that size.
template <typename T> MatrixMap<T> matrixAt(Tensor &t, int64_t i, int64_t rows, int64_t columns) {
  return {t.data<T>() + i * rows * columns, rows, columns};
}

/// Sets `to[k * rows + i]` to `from[i * columns + k]`: converts a row-major matrix to column-major,
/// or the inverse with the sizes swapped. Works in squares that fit the L1 cache.
template <typename From, typename To>
void transposeMatrix(const From *from, int64_t rows, int64_t columns, To *to) {
  constexpr int64_t side = 16;
  From square[side][side];
  for (int64_t i = 0; i < rows; i += side)
    for (int64_t k = 0; k < columns; k += side) {
      int64_t high = std::min(side, rows - i), wide = std::min(side, columns - k);
      for (int64_t y = 0; y < high; ++y)
        std::copy_n(from + (i + y) * columns + k, wide, square[y]);
      for (int64_t x = 0; x < wide; ++x)
        for (int64_t y = 0; y < high; ++y)
          to[(k + x) * rows + i + y] = static_cast<To>(square[y][x]);
    }
}

/// Nanoseconds of work for one matrix, which takes `operations` times the product of its sizes.
inline double costOf(const Matrices &m, double operations) {
  auto rows = static_cast<double>(m.rows), columns = static_cast<double>(m.columns);
  return 100 + 0.2 * operations * rows * columns * std::min(rows, columns);
}

/// Calls `solve(i)` for all matrices on the run's threads. Returns the first one that fails,
/// independent of the order of execution, or -1. After a failure some matrices may be skipped.
template <typename Solve>
int64_t firstFailure(OpContext &ctx, const Matrices &m, double operations, Solve solve) {
  std::atomic<int64_t> first = m.batch;
  ctx.parallelFor(m.batch, costOf(m, operations), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < first; ++i)
      if (!solve(i)) {
        int64_t found = first;
        while (i < found && !first.compare_exchange_weak(found, i)) {
        }
      }
  });
  return first < m.batch ? first.load() : -1;
}

/// Calls a function that can't fail for each matrix.
template <typename Solve>
void forEachMatrix(OpContext &ctx, const Matrices &m, double operations, Solve solve) {
  ctx.parallelFor(m.batch, costOf(m, operations), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      solve(i);
  });
}

} // namespace treadle
