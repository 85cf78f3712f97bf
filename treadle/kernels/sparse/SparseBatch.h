// Sparse tensors as values: batches of them made of one, and joined to one.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// The three tensors that make one.
struct WholeSparse {
  Tensor indices, values, shape;
};

/// InvalidArgument unless dtypes and sizes fit together.
Expected<void> checkSparse(const WholeSparse &sparse);

/// Inputs 0 to 2; nothing, having failed, where they don't fit together.
std::optional<WholeSparse> wholeSparseInput(OpContext &ctx);

/// The size of the first dimension, of two at least; nothing, having failed, where there are fewer.
std::optional<int64_t> rowCount(OpContext &ctx, const WholeSparse &sparse);
/// Calls `take` with each index of the first dimension and what is there, a sparse tensor without
/// that dimension. Entries must be in order of it: fails where they aren't.
void forEachRow(OpContext &ctx, const WholeSparse &sparse,
                const std::function<void(int64_t row, WholeSparse part)> &take);

/// Sets outputs 0 to 2 to the batch of these, which are one at least, of this dtype and of equal
/// ranks; `batch` are its first dimensions. The others are the largest that any has.
void joinSparse(OpContext &ctx, const std::vector<WholeSparse> &all, Dims batch, DType dtype);

} // namespace treadle
