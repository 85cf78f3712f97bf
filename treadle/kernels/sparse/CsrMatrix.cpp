// CSR matrices: conversion from and to dense and sparse tensors.
#include "treadle/kernels/sparse/CsrMatrix.h"

#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {

const CsrObject *csrInput(OpContext &ctx, int i, DType dtype) {
  const auto *matrix = variantIn<CsrObject>(ctx.input(i));
  if (matrix && (dtype == DType::Invalid || matrix->values.dtype() == dtype))
    return matrix;
  ctx.fail(
      invalidArgument("input ", i, " (", tensorTypeText(ctx.input(i)), ") ",
                      matrix ? str("holds ", dtypeName(matrix->values.dtype()))
                             : std::string("holds no compressed sparse matrix"),
                      ", expected a sparse matrix",
                      dtype == DType::Invalid ? std::string() : str(" of ", dtypeName(dtype))));
  return nullptr;
}

Ref<CsrObject> csrOfEntries(OpContext &ctx, std::vector<int64_t> shape, const Tensor &indices,
                            Tensor values) {
  auto fail = [&](Error error) {
    ctx.fail(std::move(error));
    return nullptr;
  };
  auto rank = std::ssize(shape);
  if ((rank != 2 && rank != 3) || indices.rank() != 2 || indices.dim(1) != rank)
    return fail(invalidArgument("the shape is ", dimsText(shape), " and the indices are ",
                                tensorTypeText(indices),
                                ", expected rank 2 or 3 and a column for each dimension"));
  int64_t batch = rank == 3 ? shape[0] : 1, rows = shape[rank - 2], count = indices.dim(0);
  if (std::ranges::any_of(shape, [](int64_t dim) { return dim < 0 || dim > INT32_MAX; }) ||
      count > INT32_MAX)
    return fail(invalidArgument("the shape is ", dimsText(shape), " for ", count,
                                " entries, expected numbers that fit an int32"));
  auto starts = ctx.check(Tensor::make(DType::Int32, {batch, rows + 1}));
  auto columns = ctx.check(Tensor::make(DType::Int32, {count}));
  if (!starts || !columns)
    return nullptr;
  std::vector<int32_t> batchStarts(batch + 1);
  auto *rowStarts = starts->data<int32_t>();
  std::fill_n(rowStarts, starts->count(), 0);
  for (int64_t e = 0; e < count; ++e) {
    const int64_t *index = indices.data<int64_t>() + e * rank;
    for (int64_t d = 0; d < rank; ++d)
      if (index[d] < 0 || index[d] >= shape[d])
        return fail(invalidArgument("indices[", e, ",", d, "] is ", index[d],
                                    ", expected one in [0, ", shape[d], ")"));
    if (e && std::lexicographical_compare(index, index + rank - 1, index - rank, index - 1))
      return fail(invalidArgument("indices[", e, "] is out of order, expected row-major order"));
    int64_t matrix = rank == 3 ? index[0] : 0;
    ++batchStarts[matrix + 1];
    ++rowStarts[matrix * (rows + 1) + index[rank - 2] + 1];
    columns->data<int32_t>()[e] = static_cast<int32_t>(index[rank - 1]);
  }
  for (int64_t i = 0; i < batch; ++i) {
    batchStarts[i + 1] += batchStarts[i];
    for (int64_t row = i * (rows + 1); row < i * (rows + 1) + rows; ++row)
      rowStarts[row + 1] += rowStarts[row];
  }
  return makeRef<CsrObject>(std::move(shape), std::move(batchStarts), std::move(*starts),
                            std::move(*columns), std::move(values));
}

namespace {

void setMatrix(OpContext &ctx, Ref<CsrObject> matrix) {
  if (matrix)
    ctx.setOutput(0, makeVariant(std::move(matrix)));
}

// Inputs: indices, values, dense_shape.
void fromEntries(OpContext &ctx) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
  if (shape.rank() != 1 || values.rank() != 1 || indices.rank() != 2 ||
      indices.dim(0) != values.dim(0))
    return ctx.fail(invalidArgument("indices, values and dense_shape are ", tensorTypeText(indices),
                                    ", ", tensorTypeText(values), " and ", tensorTypeText(shape),
                                    ", expected [n,r], [n] and [r]"));
  auto dims = shape.values<int64_t>();
  setMatrix(ctx, csrOfEntries(ctx, {dims.begin(), dims.end()}, indices, values));
}

// Inputs: a dense tensor, indices of the elements to take.
template <typename T> struct FromDense {
  static void run(OpContext &ctx) {
    const Tensor &dense = ctx.input(0), &indices = ctx.input(1);
    int64_t count = indices.rank() == 2 ? indices.dim(0) : 0;
    auto values = ctx.check(Tensor::make(dtypeOf<T>, {count}));
    Ref<CsrObject> matrix = TREADLE_OR_RETURN(
        values ? csrOfEntries(ctx, {dense.dims().begin(), dense.dims().end()}, indices, *values)
               : nullptr);
    DimVector strides = rowMajorStrides(dense.dims());
    for (int64_t e = 0; e < count; ++e) {
      int64_t at = 0;
      for (int d = 0; d < dense.rank(); ++d)
        at += indices.data<int64_t>()[e * dense.rank() + d] * strides[d];
      values->template data<T>()[e] = dense.data<T>()[at];
    }
    setMatrix(ctx, std::move(matrix));
  }
};

template <typename T> struct ToDense {
  static void run(OpContext &ctx) {
    const CsrObject *matrix = csrInput(ctx, 0, dtypeOf<T>);
    Tensor *out = matrix ? ctx.allocateOutput(0, dtypeOf<T>, matrix->shape) : nullptr;
    for (int64_t i = 0; out && i < matrix->batch(); ++i)
      matrixAt<T>(*out, i, matrix->rows(), matrix->width()) = matrix->at<T>(i);
  }
};

void toEntries(OpContext &ctx) {
  const CsrObject *matrix = TREADLE_OR_RETURN(csrInput(ctx, 0, ctx.state<DType>()));
  auto rank = std::ssize(matrix->shape);
  Tensor *indices = TREADLE_OR_RETURN(
      ctx.allocateOutput(0, DType::Int64, {matrix->values.count(), static_cast<int64_t>(rank)}));
  int64_t *index = indices->data<int64_t>();
  const int32_t *column = matrix->columns.data<int32_t>();
  for (int64_t i = 0; i < matrix->batch(); ++i)
    for (int64_t row = 0; row < matrix->rows(); ++row)
      for (int32_t n = matrix->starts(i)[row + 1] - matrix->starts(i)[row]; n > 0; --n) {
        if (rank == 3)
          *index++ = i;
        *index++ = row;
        *index++ = *column++;
      }
  ctx.setOutput(1, matrix->values);
  ctx.setOutput(2, Tensor::vector<int64_t>(DType::Int64, matrix->shape));
}

// Inputs: matrices, index in the batch.
void components(OpContext &ctx) {
  const CsrObject *matrix = TREADLE_OR_RETURN(csrInput(ctx, 0, ctx.state<DType>()));
  const Tensor &which = ctx.input(1);
  int64_t i = which.rank() == 0 ? which.scalarValue<int32_t>() : -1;
  if (i < 0 || i >= matrix->batch())
    return ctx.fail(invalidArgument("index is ", which.rank() ? tensorTypeText(which) : str(i),
                                    ", expected a scalar in [0, ", matrix->batch(), ")"));
  ctx.setOutput(0, Tensor::vector<int32_t>(
                       DType::Int32, {matrix->starts(i), static_cast<size_t>(matrix->rows() + 1)}));
  int64_t count = matrix->entries(i);
  ctx.setOutput(1, matrix->columns.view(matrix->batchStarts[i], {&count, 1}));
  ctx.setOutput(2, matrix->values.view(matrix->batchStarts[i], {&count, 1}));
}

void countEntries(OpContext &ctx) {
  const CsrObject *matrix = TREADLE_OR_RETURN(csrInput(ctx, 0, DType::Invalid));
  Tensor *out =
      ctx.allocateOutput(0, DType::Int32, Dims(matrix->shape).first(matrix->shape.size() - 2));
  for (int64_t i = 0; out && i < matrix->batch(); ++i)
    out->data<int32_t>()[i] = matrix->entries(i);
}

void zeros(OpContext &ctx) {
  const Tensor &shape = ctx.input(0);
  if (shape.rank() != 1)
    return ctx.fail(
        invalidArgument("dense_shape is ", tensorTypeText(shape), ", expected a vector"));
  auto dims = shape.values<int64_t>();
  setMatrix(ctx, csrOfEntries(ctx, {dims.begin(), dims.end()},
                              *Tensor::make(DType::Int64, {0, shape.count()}),
                              *Tensor::make(ctx.state<DType>(), {0})));
}

// Binds an op with the dtype of the attribute `type`.
template <KernelFn fn> Expected<BoundKernel> bindOfType(const BindContext &node) {
  return boundWith(fn, node.attrs.getOr("type", DType::Invalid));
}

const KernelEntry csrMatrixTable[] = {
    {"CSRSparseMatrixComponents", bindOfType<components>},
    {"CSRSparseMatrixToDense", bindCsr<ToDense>},
    {"CSRSparseMatrixToSparseTensor", bindOfType<toEntries>},
    {"DenseToCSRSparseMatrix", bindByType<FromDense, MatrixTypes>},
    {"SparseMatrixNNZ", bindPlain<countEntries>},
    {"SparseMatrixZeros", bindOfType<zeros>},
    {"SparseTensorToCSRSparseMatrix", bindPlain<fromEntries>},
};

} // namespace

std::span<const KernelEntry> csrMatrixKernels() { return csrMatrixTable; }

} // namespace treadle
