// Products of matrices and vectors, and inner products, of floats where they lie. The error of a
// sum hardly grows with its length.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

/// out[r] = sum over i of matrix[r * stride + i] * x[i]. An inner product has one row.
template <typename T>
void multiplyRowsByVector(const T *matrix, int64_t stride, int64_t rows, int64_t depth, const T *x,
                          T *out);

/// out[r] = sum over i of matrix[i * stride + r] * x[i].
template <typename T>
void multiplyColumnsByVector(const T *matrix, int64_t stride, int64_t rows, int64_t depth,
                             const T *x, T *out);

} // namespace treadle
