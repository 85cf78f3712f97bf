// Tensors of plain elements made from others by moving elements: permutation, padding, pieces along
// an axis. For the ops that call functions with whole tensors, and the kernels that share them.
#pragma once

#include "treadle/tensor/Tensor.h"

namespace treadle::rearrange {

/// Dimension `i` of the result is dimension `order[i]` of `x`. No copy where nothing moves.
Expected<Tensor> permuted(const Tensor &x, std::span<const int64_t> order);

/// `x` with `interior[i]` values between its elements and `low[i]`, `high[i]` around them; negative
/// ones cut off. InvalidArgument for lengths that aren't the rank, and a size that can't be.
Expected<Tensor> padded(const Tensor &x, const Tensor &filler, std::span<const int64_t> low,
                        std::span<const int64_t> high, std::span<const int64_t> interior);

/// Elements `start`, `start + step`, ... of `axis`: `count` of them.
Expected<Tensor> along(const Tensor &x, int axis, int64_t start, int64_t count, int64_t step = 1);

/// `x` (one element) in all places of `dims`.
Expected<Tensor> filled(const Tensor &x, Dims dims);

/// Rows of `a`, then rows of `b`.
Expected<Tensor> stacked(const Tensor &a, const Tensor &b);

/// dst[i . dstStrides] = src[i . srcStrides] for every index i of `dims`; strides in elements, of
/// `size` bytes.
void copy(size_t size, Dims dims, void *dst, Dims dstStrides, const void *src, Dims srcStrides);

std::vector<int64_t> strides(Dims dims);

/// All elements of a tensor of int32 or int64.
std::vector<int64_t> numbers(const Tensor &t);

} // namespace treadle::rearrange
