#include "treadle/kernels/sparse/SparseBatch.h"

#include "treadle/kernels/ElementShapes.h"

#include <algorithm>

namespace treadle {

Expected<void> checkSparse(const SparseTensorValue &s) {
  auto fail = [](std::string_view what, const Tensor &found, std::string_view expected) {
    return Unexpected(invalidArgument("the sparse tensor's ", what, " are ", tensorTypeText(found),
                                      ", expected ", expected));
  };
  if (s.indices.dtype() != DType::Int64 || s.indices.rank() != 2)
    return fail("indices", s.indices, "an int64 matrix");
  if (s.values.rank() != 1 || s.values.dim(0) != s.indices.dim(0))
    return fail("values", s.values, "a vector with one for each row of the indices");
  if (s.shape.dtype() != DType::Int64 || s.shape.rank() != 1 || s.shape.dim(0) != s.indices.dim(1))
    return fail("dimensions", s.shape, "an int64 vector with one for each column of the indices");
  return {};
}

std::optional<SparseTensorValue> sparseTensorInput(OpContext &ctx) {
  SparseTensorValue sparse{ctx.input(0), ctx.input(1), ctx.input(2)};
  if (auto good = checkSparse(sparse); !good) {
    ctx.fail(std::move(good.error()));
    return std::nullopt;
  }
  return sparse;
}

namespace {

// Returns the entries [begin, end) without their first coordinate.
Expected<SparseTensorValue> sliceEntries(const SparseTensorValue &whole, int64_t begin,
                                         int64_t end) {
  int64_t rank = whole.indices.dim(1);
  Tensor indices = TREADLE_TRY(Tensor::make(DType::Int64, {end - begin, rank - 1}));
  for (int64_t i = begin; i < end; ++i)
    std::copy_n(whole.indices.data<int64_t>() + i * rank + 1, rank - 1,
                indices.data<int64_t>() + (i - begin) * (rank - 1));
  return SparseTensorValue{std::move(indices), rowsOf(whole.values, begin, end - begin),
                           rowsOf(whole.shape, 1, rank - 1)};
}

// Appends tensor `i` of a batch: its entries, with the batch's coordinates prepended.
void appendEntries(const SparseTensorValue &part, int64_t i, Dims batch, int64_t at,
                   Tensor &indices, Tensor &values) {
  int64_t rank = indices.dim(1), own = part.indices.dim(1), lead = rank - own;
  int64_t coordinates[256];
  for (int64_t d = lead - 1, rest = i; d >= 0; --d) {
    coordinates[d] = rest % batch[d];
    rest /= batch[d];
  }
  for (int64_t e = 0; e < part.values.count(); ++e) {
    int64_t *to = indices.data<int64_t>() + (at + e) * rank;
    std::copy_n(coordinates, lead, to);
    std::copy_n(part.indices.data<int64_t>() + e * own, own, to + lead);
  }
  copyElements(values.dtype(), elementAt(values.dtype(), values.raw(), at), part.values.raw(),
               part.values.count());
}

} // namespace

std::optional<int64_t> rowCount(OpContext &ctx, const SparseTensorValue &sparse) {
  if (sparse.shape.count() >= 2)
    return sparse.shape.data<int64_t>()[0];
  ctx.fail(invalidArgument("the sparse tensor has rank ", sparse.shape.count(),
                           ", expected at least 2"));
  return std::nullopt;
}

void forEachRow(OpContext &ctx, const SparseTensorValue &sparse,
                const std::function<void(int64_t, SparseTensorValue)> &take) {
  int64_t rank = sparse.shape.count(), count = sparse.values.count();
  int64_t size = sparse.shape.data<int64_t>()[0];
  const int64_t *indices = sparse.indices.data<int64_t>();
  int64_t begin = 0;
  for (int64_t row = 0; row < size; ++row) {
    int64_t end = begin;
    while (end < count && indices[end * rank] == row)
      ++end;
    auto part = TREADLE_OR_RETURN(ctx.check(sliceEntries(sparse, begin, end)));
    take(row, std::move(part));
    begin = end;
  }
  if (begin < count)
    ctx.fail(invalidArgument("entry ", begin, " has the first coordinate ", indices[begin * rank],
                             ", expected one in [0, ", size, ") and entries sorted by it"));
}

void outputBatch(OpContext &ctx, const std::vector<SparseTensorValue> &all, Dims batch,
                 DType dtype) {
  auto lead = static_cast<int64_t>(batch.size()), own = all[0].shape.count();
  int64_t count = 0;
  for (const SparseTensorValue &part : all)
    count += part.values.count();
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {count, lead + own});
  Tensor *values = indices ? ctx.allocateOutput(1, dtype, {count}) : nullptr;
  Tensor *shape =
      TREADLE_OR_RETURN(values ? ctx.allocateOutput(2, DType::Int64, {lead + own}) : nullptr);
  int64_t *dims = std::ranges::copy(batch, shape->data<int64_t>()).out;
  std::fill_n(dims, own, 0);
  int64_t at = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    for (int64_t d = 0; d < own; ++d)
      dims[d] = std::max(dims[d], all[i].shape.data<int64_t>()[d]);
    appendEntries(all[i], static_cast<int64_t>(i), batch, at, *indices, *values);
    at += all[i].values.count();
  }
}

} // namespace treadle
