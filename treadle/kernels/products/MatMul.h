// One product of two matrices, for ops that consist of such products.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Nanoseconds per multiplication, to decide whether to use several threads.
constexpr double costOfProduct = 0.03;

/// `out[m, n] = sum over k of a[m, k] * b[k, n]`, all row-major. `aTransposed`: a is stored as [k,
/// m].
struct Product {
  int64_t m, k, n;
  bool aTransposed, bTransposed;
};

/// Writes `out`. `conjugates`: a transposed operand is also conjugated.
using MultiplyFn = void (*)(const Product &, const void *a, const void *b, void *out,
                            bool conjugates);

/// Returns the function for these dtypes; null if there is none.
MultiplyFn findMultiply(DType a, DType b, DType out);

/// Returns the dtype in which XLA multiplies numbers of dtypes `a` and `b` for a result of dtype
/// `out`: it holds all values of these, except for digits that sums of small floats and integers
/// don't need.
DType productDType(DType a, DType b, DType out);

} // namespace treadle
