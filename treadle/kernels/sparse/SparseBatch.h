// Sparse tensors as values: splitting along the first dimension, and batching.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// The three components of a sparse tensor.
struct WholeSparse {
  Tensor indices, values, shape;
};

/// Returns InvalidArgument unless dtypes and sizes are consistent.
Expected<void> checkSparse(const WholeSparse &sparse);

/// Returns the sparse tensor in inputs 0 to 2; nullopt after failing the op.
std::optional<WholeSparse> wholeSparseInput(OpContext &ctx);

/// Returns the size of the first dimension; nullopt after failing the op if the rank is below two.
std::optional<int64_t> rowCount(OpContext &ctx, const WholeSparse &sparse);
/// Calls `take` with each index of the first dimension and its subtensor. Fails the op unless
/// entries are sorted by that dimension.
void forEachRow(OpContext &ctx, const WholeSparse &sparse,
                const std::function<void(int64_t row, WholeSparse part)> &take);

/// Sets outputs 0 to 2 to the batch of `all`, at least one sparse tensor with this dtype and equal
/// ranks; `batch` are the leading dimensions. Each other dimension is the maximum over the tensors.
void joinSparse(OpContext &ctx, const std::vector<WholeSparse> &all, Dims batch, DType dtype);

} // namespace treadle
