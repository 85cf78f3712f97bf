// Sparse tensors as values: splitting along the first dimension, and batching.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// The three components of a sparse tensor.
struct SparseTensorValue {
  Tensor indices, values, shape;
};

/// Returns InvalidArgument unless dtypes and sizes are consistent.
Expected<void> checkSparse(const SparseTensorValue &sparse);

/// Returns the sparse tensor in inputs 0 to 2; nullopt after failing the op.
std::optional<SparseTensorValue> sparseTensorInput(OpContext &ctx);

/// Returns the size of the first dimension; nullopt after failing the op if the rank is below two.
std::optional<int64_t> rowCount(OpContext &ctx, const SparseTensorValue &sparse);
/// Calls `take` with each index of the first dimension and its subtensor. Fails the op unless
/// entries are sorted by that dimension.
void forEachRow(OpContext &ctx, const SparseTensorValue &sparse,
                const std::function<void(int64_t row, SparseTensorValue part)> &take);

/// Sets outputs 0 to 2 to the batch of `all`, at least one sparse tensor with this dtype and equal
/// ranks; `batch` are the leading dimensions. Each other dimension is the maximum over the tensors.
void outputBatch(OpContext &ctx, const std::vector<SparseTensorValue> &all, Dims batch,
                 DType dtype);

} // namespace treadle
