// One product of two matrices, for ops that are made of such products.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Nanoseconds that one multiplication takes: to judge whether threads are worth it.
constexpr double costOfProduct = 0.03;

/// `out[m, n] = sum over k of a[m, k] * b[k, n]`, all row-major; `aTransposed`: a lies as [k, m].
struct Product {
  int64_t m, k, n;
  bool aTransposed, bTransposed;
};

/// Writes `out`; `conjugates`: a transposed operand is conjugated as well.
using MultiplyFn = void (*)(const Product &, const void *a, const void *b, void *out,
                            bool conjugates);

/// The function for these dtypes, or null.
MultiplyFn findMultiply(DType a, DType b, DType out);

/// The dtype in which XLA multiplies numbers of dtypes `a` and `b` for a result of dtype `out`:
/// that loses nothing of any of them but the digits that sums of small floats and integers don't
/// need.
DType productDType(DType a, DType b, DType out);

} // namespace treadle
