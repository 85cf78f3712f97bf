// Functions that make tensors by moving elements of others: transposition, padding, slices along an
// axis. Used by the ops that call functions with whole tensors, and by kernels.
#pragma once

#include "treadle/tensor/Tensor.h"

namespace treadle::rearrange {

/// Transposes `x`: dimension `i` of the result is dimension `order[i]` of `x`. Returns `x` itself
/// if no element moves.
Expected<Tensor> permuted(const Tensor &x, std::span<const int64_t> order);

/// Pads `x` with `interior[i]` values between its elements and with `low[i]` and `high[i]` around
/// them; negative values crop. InvalidArgument if the number of values isn't the rank, or if a size
/// is invalid.
Expected<Tensor> padded(const Tensor &x, const Tensor &filler, std::span<const int64_t> low,
                        std::span<const int64_t> high, std::span<const int64_t> interior);

/// Returns `count` elements of `axis`: `start`, `start + step`, ...
Expected<Tensor> along(const Tensor &x, int axis, int64_t start, int64_t count, int64_t step = 1);

/// Broadcasts `x` (one element) to `dims`.
Expected<Tensor> filled(const Tensor &x, Dims dims);

/// Concatenates the rows of `a` and `b`.
Expected<Tensor> stacked(const Tensor &a, const Tensor &b);

/// Copies dst[i . dstStrides] = src[i . srcStrides] for every index i of `dims`; strides are in
/// elements of `size` bytes.
void copy(size_t size, Dims dims, void *dst, Dims dstStrides, const void *src, Dims srcStrides);

std::vector<int64_t> strides(Dims dims);

/// Returns all elements of an int32 or int64 tensor.
std::vector<int64_t> numbers(const Tensor &t);

} // namespace treadle::rearrange
