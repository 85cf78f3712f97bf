// In-place products of float matrices and vectors, and inner products. The error of a sum hardly
// grows with its length.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

/// Computes out[r] = sum over i of matrix[r * stride + i] * x[i]. An inner product has one row.
template <typename T>
void multiplyRowsByVector(const T *matrix, int64_t stride, int64_t rows, int64_t depth, const T *x,
                          T *out);

/// Computes out[r] = sum over i of matrix[i * stride + r] * x[i].
template <typename T>
void multiplyColumnsByVector(const T *matrix, int64_t stride, int64_t rows, int64_t depth,
                             const T *x, T *out);

} // namespace treadle
