// Sparse tensors as inputs of ops: a matrix of indices, a vector of values, a vector of dimensions.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// A view of a sparse tensor: `indices` has `rank` numbers for each of `count` entries.
struct SparseView {
  const int64_t *indices;
  const Tensor *values;
  const int64_t *dims;
  int64_t count, rank;

  const int64_t *index(int64_t entry) const { return indices + entry * rank; }
  Dims shape() const { return {dims, static_cast<size_t>(rank)}; }
};

/// Returns the sparse tensor in three inputs, which must have consistent shapes; indices and shape
/// must be int64. Returns nullopt after failing the op.
std::optional<SparseView> sparseInput(OpContext &ctx, int indices, int values, int shape);

/// Returns false after failing the op unless all indices are within the shape.
bool checkInside(OpContext &ctx, const SparseView &sparse);

/// Returns the permutation of entries to row-major order; stable.
std::vector<int64_t> rowMajorOrder(const SparseView &sparse);

} // namespace treadle
