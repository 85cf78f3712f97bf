// Reordering, reshaping, slicing and concatenation of sparse tensors.
#include "treadle/kernels/elementwise/Wrapping.h"
#include "treadle/kernels/sparse/Sparse.h"

#include <algorithm>

namespace treadle {
namespace {

// Sets outputs `indices` and `values` to the given entries in the given order.
bool setEntries(OpContext &ctx, const SparseView &in, std::span<const int64_t> entries,
                int indices = 0, int values = 1) {
  DType dtype = in.values->dtype();
  auto count = std::ssize(entries);
  Tensor *outIndices = ctx.allocateOutput(indices, DType::Int64, {count, in.rank});
  Tensor *outValues = outIndices ? ctx.allocateOutput(values, dtype, {count}) : nullptr;
  if (!outValues)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(in.index(entries[i]), in.rank, outIndices->data<int64_t>() + i * in.rank);
    copyElements(dtype, elementAt(dtype, outValues->raw(), i),
                 elementAt(dtype, in.values->raw(), entries[i]), 1);
  }
  return true;
}

void reorder(OpContext &ctx) {
  if (auto in = sparseInput(ctx, 0, 1, 2))
    setEntries(ctx, *in, rowMajorOrder(*in));
}

// --- SparseReshape -----------------------------------------------------------------------------

// Returns the new shape, in which one dimension may be -1.
Expected<DimVector> reshapedDims(Dims from, const Tensor &asked) {
  auto size = countElements(from);
  if (!size)
    return Unexpected(invalidArgument("the shape ", dimsText(from), " is negative or too large"));
  DimVector dims = readIndices(asked);
  int64_t product = 1, unknown = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1 && unknown < 0)
      unknown = static_cast<int64_t>(d);
    else if (dims[d] < 0 || __builtin_mul_overflow(product, dims[d], &product))
      return Unexpected(invalidArgument("the new shape is ", dimsText(dims),
                                        ", expected dimensions >= 0, of which one may be -1"));
  }
  if (unknown >= 0 && product > 0) {
    dims[unknown] = *size / product;
    product *= dims[unknown];
  }
  if (product != *size || (unknown >= 0 && dims[unknown] < 0))
    return Unexpected(invalidArgument("a tensor of shape ", dimsText(from), " with ", *size,
                                      " elements can't have the shape ", dimsText(dims)));
  return dims;
}

void reshape(OpContext &ctx) {
  const Tensor &indices = ctx.input(0), &shape = ctx.input(1), &asked = ctx.input(2);
  if (indices.rank() != 2 || shape.rank() != 1 || asked.rank() != 1 ||
      indices.dim(1) != shape.dim(0))
    return ctx.fail(invalidArgument("indices, shape and new shape are ", tensorTypeText(indices),
                                    ", ", tensorTypeText(shape), " and ", tensorTypeText(asked),
                                    ", expected [n,r], [r] and a vector"));
  auto dims = TREADLE_OR_RETURN(ctx.check(reshapedDims(readIndices(shape), asked)));
  int64_t count = indices.dim(0), rank = indices.dim(1), newRank = std::ssize(std::span(dims));
  if (count && countBetween(dims, 0, dims.size()) == 0)
    return ctx.fail(invalidArgument("there are ", count, " entries in a tensor of the shape ",
                                    dimsText(readIndices(shape)), ", which has no elements"));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int64, {count, newRank}));
  DimVector strides = rowMajorStrides(readIndices(shape)), newStrides = rowMajorStrides(dims);
  for (int64_t e = 0; e < count; ++e) {
    uint64_t flat = 0; // indices out of range wrap around harmlessly
    for (int64_t d = 0; d < rank; ++d)
      flat += static_cast<uint64_t>(indices.data<int64_t>()[e * rank + d]) *
              static_cast<uint64_t>(strides[d]);
    auto rest = static_cast<int64_t>(flat);
    for (int64_t d = 0; d < newRank; ++d) {
      out->data<int64_t>()[e * newRank + d] = rest / newStrides[d];
      rest %= newStrides[d];
    }
  }
  ctx.setOutput(1, Tensor::vector<int64_t>(DType::Int64, std::span(dims.data(), dims.size())));
}

// --- SparseFillEmptyRows -----------------------------------------------------------------------

/// For a sparse tensor, or with `isRagged` for rows, which have no second coordinate, and whose
/// indices are a vector.
void fillRows(OpContext &ctx, const SparseView &in, bool isRagged) {
  const Tensor &fallback = ctx.input(3);
  if (in.rank < 1 || !fallback.isScalar())
    return ctx.fail(invalidArgument("the shape has ", in.rank, " dimensions and the default is ",
                                    tensorTypeText(fallback), ", expected rows and a scalar"));
  int64_t rows = in.dims[0], rank = in.rank;
  DType dtype = in.values->dtype();
  for (int64_t e = 0; e < in.count; ++e)
    if (int64_t row = in.index(e)[0]; row < 0 || row >= rows)
      return ctx.fail(
          invalidArgument("indices[", e, ",0] is ", row, ", expected one in [0, ", rows, ")"));
  Tensor *isEmpty = ctx.allocateOutput(2, DType::Bool, {rows});
  Tensor *places =
      TREADLE_OR_RETURN(isEmpty ? ctx.allocateOutput(3, DType::Int64, {in.count}) : nullptr);
  std::vector<int64_t> next(rows + 1); // position of each row's next entry
  for (int64_t e = 0; e < in.count; ++e)
    ++next[in.index(e)[0] + 1];
  for (int64_t row = 0; row < rows; ++row) {
    isEmpty->data<bool>()[row] = next[row + 1] == 0;
    next[row + 1] = next[row] + std::max<int64_t>(next[row + 1], 1);
  }
  // Without rows, TensorFlow returns a matrix of row indices.
  Tensor *indices = isRagged && rows ? ctx.allocateOutput(0, DType::Int64, {next[rows]})
                                     : ctx.allocateOutput(0, DType::Int64, {next[rows], rank});
  Tensor *values =
      TREADLE_OR_RETURN(indices ? ctx.allocateOutput(1, dtype, {next[rows]}) : nullptr);
  auto put = [&](int64_t to, const void *value) {
    copyElements(dtype, elementAt(dtype, values->raw(), to), value, 1);
    return indices->data<int64_t>() + to * rank;
  };
  for (int64_t row = 0; row < rows; ++row)
    if (isEmpty->data<bool>()[row]) {
      int64_t *index = put(next[row], fallback.raw());
      std::fill_n(index, rank, 0);
      index[0] = row;
    }
  for (int64_t e = 0; e < in.count; ++e) {
    int64_t to = next[in.index(e)[0]]++;
    std::copy_n(in.index(e), rank, put(to, elementAt(dtype, in.values->raw(), e)));
    places->data<int64_t>()[e] = to;
  }
}

void fillEmptyRows(OpContext &ctx) {
  if (auto in = sparseInput(ctx, 0, 1, 2))
    fillRows(ctx, *in, false);
}

// Inputs: the row of each value, values, number of rows, default.
void fillEmptyRaggedRows(OpContext &ctx) {
  const Tensor rowIds = ctx.input(0), values = ctx.input(1), rows = ctx.input(2);
  if (rowIds.rank() != 1 || values.rank() != 1 || rowIds.count() != values.count() ||
      rows.rank() != 0 || rows.scalarValue<int64_t>() < 0)
    return ctx.fail(invalidArgument("value_rowids, values and nrows are ", tensorTypeText(rowIds),
                                    ", ", tensorTypeText(values), " and ", tensorTypeText(rows),
                                    ", expected vectors of one size and a number of rows"));
  fillRows(ctx, {rowIds.data<int64_t>(), &values, rows.data<int64_t>(), values.count(), 1}, true);
}

template <typename T> struct FillEmptyRowsGrad {
  static void run(OpContext &ctx) {
    const Tensor &places = ctx.input(0), &grad = ctx.input(1);
    if (places.rank() != 1 || grad.rank() != 1)
      return ctx.fail(invalidArgument("reverse_index_map and grad_values are ",
                                      tensorTypeText(places), " and ", tensorTypeText(grad),
                                      ", expected vectors"));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, places.dims()));
    std::vector<bool> isUsed(grad.count());
    for (int64_t i = 0; i < places.count(); ++i) {
      int64_t at = places.data<int64_t>()[i];
      if (at < 0 || at >= grad.count())
        return ctx.fail(invalidArgument("reverse_index_map[", i, "] is ", at,
                                        ", expected one in [0, ", grad.count(), ")"));
      out->data<T>()[i] = grad.data<T>()[at];
      isUsed[at] = true;
    }
    T rest(0);
    for (int64_t i = 0; i < grad.count(); ++i)
      if (!isUsed[i])
        rest = wrappingSum(rest, grad.data<T>()[i]);
    ctx.setOutput(1, Tensor::scalar<T>(dtypeOf<T>, rest));
  }
};

Expected<BoundKernel> bindFillEmptyRowsGrad(const BindContext &node) {
  return bindForType<FillEmptyRowsGrad, NumericTypes>(node, node.inputTypes[1]);
}

// --- SparseConcat, SparseSplit, SparseSlice ----------------------------------------------------

Expected<void> checkConcat(std::span<const SparseView> parts, int64_t axis) {
  for (const SparseView &part : parts.subspan(1))
    for (int64_t d = 0; d < std::max(part.rank, parts[0].rank); ++d)
      if (part.rank != parts[0].rank || (d != axis && part.dims[d] != parts[0].dims[d]))
        return Unexpected(invalidArgument("sparse tensors of shapes ", dimsText(parts[0].shape()),
                                          " and ", dimsText(part.shape()),
                                          " can't be joined along dimension ", axis));
  return {};
}

void concat(OpContext &ctx) {
  int count = ctx.numInputs() / 3;
  std::vector<SparseView> parts;
  int64_t total = 0;
  for (int i = 0; i < count; ++i) {
    auto part = TREADLE_OR_RETURN(sparseInput(ctx, i, count + i, 2 * count + i));
    total += part.count;
    parts.push_back(part);
  }
  int64_t rank = parts[0].rank, axis = normalizedAxis(ctx.state<int64_t>(), rank);
  if (axis < 0)
    return ctx.fail(invalidArgument("concat_dim is ", ctx.state<int64_t>(), ", expected one in [",
                                    -rank, ", ", rank, ")"));
  if (auto good = checkConcat(parts, axis); !good)
    return ctx.fail(std::move(good.error()));
  DType dtype = parts[0].values->dtype();
  auto indices = ctx.check(Tensor::make(DType::Int64, {total, rank}));
  auto values = ctx.check(Tensor::make(dtype, {total}));
  if (!indices || !values)
    return;
  DimVector dims = parts[0].shape();
  dims[axis] = 0;
  int64_t at = 0;
  for (const SparseView &part : parts) {
    int64_t *to = indices->data<int64_t>() + at * rank;
    std::copy_n(part.indices, part.count * rank, to);
    for (int64_t e = 0; e < part.count; ++e)
      to[e * rank + axis] += dims[axis];
    copyElements(dtype, elementAt(dtype, values->raw(), at), part.values->raw(), part.count);
    if (__builtin_add_overflow(dims[axis], part.dims[axis], &dims[axis]))
      return ctx.fail(invalidArgument("the joined dimension is too large"));
    at += part.count;
  }
  SparseView whole{indices->data<int64_t>(), &*values, dims.data(), total, rank};
  if (setEntries(ctx, whole, rowMajorOrder(whole)))
    ctx.setOutput(2, Tensor::vector<int64_t>(DType::Int64, std::span(dims.data(), dims.size())));
}

Expected<BoundKernel> bindConcat(const BindContext &node) {
  return node.attrs.get<int64_t>("concat_dim").map([](int64_t axis) {
    return boundWith(concat, axis);
  });
}

// Outputs the entries within a box, with indices relative to its corner.
void outputBox(OpContext &ctx, const SparseView &in, const DimVector &start, const DimVector &size,
               const int (&outputs)[3]) {
  std::vector<int64_t> inside;
  for (int64_t e = 0; e < in.count; ++e) {
    bool isIn = true;
    for (int64_t d = 0; isIn && d < in.rank; ++d)
      isIn = in.index(e)[d] >= start[d] && in.index(e)[d] - start[d] < size[d];
    if (isIn)
      inside.push_back(e);
  }
  if (!setEntries(ctx, in, inside, outputs[0], outputs[1]))
    return;
  auto *index = ctx.output(outputs[0]).data<int64_t>();
  for (size_t i = 0; i < inside.size() * static_cast<size_t>(in.rank); ++i)
    index[i] -= start[i % static_cast<size_t>(in.rank)];
  ctx.setOutput(outputs[2],
                Tensor::vector<int64_t>(DType::Int64, std::span(size.data(), size.size())));
}

void slice(OpContext &ctx) {
  auto in = TREADLE_OR_RETURN(sparseInput(ctx, 0, 1, 2));
  const Tensor &start = ctx.input(3), &size = ctx.input(4);
  if (start.rank() != 1 || size.rank() != 1 || start.count() != in.rank || size.count() != in.rank)
    return ctx.fail(invalidArgument("start and size are ", tensorTypeText(start), " and ",
                                    tensorTypeText(size), ", expected vectors of ", in.rank));
  DimVector from = readIndices(start), dims = readIndices(size);
  for (int64_t d = 0; d < in.rank; ++d) {
    if (from[d] < 0 || dims[d] < 0)
      return ctx.fail(invalidArgument("start ", dimsText(from), " and size ", dimsText(dims),
                                      " must not be negative"));
    dims[d] = std::min(dims[d], std::max<int64_t>(in.dims[d] - from[d], 0));
  }
  outputBox(ctx, in, from, dims, {0, 1, 2});
}

void split(OpContext &ctx) {
  auto in = TREADLE_OR_RETURN(sparseInput(ctx, 1, 2, 3));
  auto parts = ctx.state<int64_t>();
  const Tensor &asked = ctx.input(0);
  int64_t axis = asked.count() == 1 ? normalizedAxis(indexAt(asked, 0), in.rank) : -1;
  if (axis < 0 || parts < 1 || parts > in.dims[axis])
    return ctx.fail(invalidArgument("split_dim is ", tensorTypeText(asked), " and num_split ",
                                    parts, ", expected a dimension of ", dimsText(in.shape()),
                                    " and at most its size"));
  if (!checkInside(ctx, in))
    return;
  DimVector start(static_cast<size_t>(in.rank)), size = in.shape();
  for (int64_t i = 0; i < parts; ++i) {
    size[axis] = in.dims[axis] / parts + (i < in.dims[axis] % parts);
    auto at = static_cast<int>(i), n = static_cast<int>(parts);
    outputBox(ctx, in, start, size, {at, n + at, 2 * n + at});
    if (ctx.hasFailed())
      return;
    start[axis] += size[axis];
  }
}

Expected<BoundKernel> bindSplit(const BindContext &node) {
  return boundWith(split, node.attrs.getOr("num_split", int64_t{1}));
}

const KernelEntry sparseShapeTable[] = {
    {"RaggedFillEmptyRows", bindPlain<fillEmptyRaggedRows>},
    {"RaggedFillEmptyRowsGrad", bindFillEmptyRowsGrad},
    {"SparseConcat", bindConcat},
    {"SparseFillEmptyRows", bindPlain<fillEmptyRows>},
    {"SparseFillEmptyRowsGrad", bindFillEmptyRowsGrad},
    {"SparseReorder", bindPlain<reorder>},
    {"SparseReshape", bindPlain<reshape>},
    {"SparseSlice", bindPlain<slice>},
    {"SparseSplit", bindSplit},
};

} // namespace

std::span<const KernelEntry> sparseShapeKernels() { return sparseShapeTable; }

} // namespace treadle
