// The frame of ops on matrices: the last two dimensions are a matrix, those before count matrices.
#pragma once

#include "treadle/kernels/Element.h"

#include <vector>

namespace treadle {

template <typename T>
using MatrixOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T> using MatrixMap = Eigen::Map<MatrixOf<T>>;
template <typename T> using ConstMatrixMap = Eigen::Map<const MatrixOf<T>>;

using MatrixTypes = TypeList<float, double, Complex64, Complex128>;

/// A tensor as a number of matrices.
struct Matrices {
  int64_t batch = 1, rows = 0, columns = 0;
  std::vector<int64_t> batchDims;

  /// False, having failed, where the rank is less than 2.
  bool read(OpContext &ctx, const Tensor &t);
  /// The same, and square.
  bool readSquare(OpContext &ctx, const Tensor &t);
  /// The batch dimensions with these after them.
  std::vector<int64_t> dimsWith(std::initializer_list<int64_t> inner) const;

  template <typename T> ConstMatrixMap<T> at(const Tensor &t, int64_t i) const {
    return {t.data<T>() + i * rows * columns, rows, columns};
  }
};

// Large algorithms are compiled for two types only: they take Eigen's compiler time, and single
// precision gains from the double's accuracy.
template <typename T>
using Wide = std::conditional_t<Eigen::NumTraits<T>::IsComplex, std::complex<double>, double>;
template <typename T> using WideMatrix = Eigen::Matrix<Wide<T>, Eigen::Dynamic, Eigen::Dynamic>;

template <typename T> WideMatrix<T> widened(const Matrices &m, const Tensor &in, int64_t i) {
  return m.at<T>(in, i).template cast<Wide<T>>();
}

/// Matrix `i` of a tensor of matrices of that size.
template <typename T> MatrixMap<T> matrixAt(Tensor &t, int64_t i, int64_t rows, int64_t columns) {
  return {t.data<T>() + i * rows * columns, rows, columns};
}

} // namespace treadle
