// Sparse tensors as ops take them: a matrix of indices, a vector of values, a vector of dimensions.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// A view of one: `indices` has `rank` numbers for each of `count` entries.
struct SparseView {
  const int64_t *indices;
  const Tensor *values;
  const int64_t *dims;
  int64_t count, rank;

  const int64_t *index(int64_t entry) const { return indices + entry * rank; }
  Dims shape() const { return {dims, static_cast<size_t>(rank)}; }
};

/// The tensor whose parts are inputs `indices`, `values` and `shape`: int64 but for the values, of
/// fitting ranks and sizes. Nothing, having failed, where they aren't.
std::optional<SparseView> sparseInput(OpContext &ctx, int indices, int values, int shape);

/// Fails, and gives false, unless each index is inside of the shape.
bool checkInside(OpContext &ctx, const SparseView &sparse);

/// The entries' numbers in row-major order of their indices; of equal ones the first stays first.
std::vector<int64_t> rowMajorOrder(const SparseView &sparse);

} // namespace treadle
