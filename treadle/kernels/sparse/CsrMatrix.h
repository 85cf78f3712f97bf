// CSR (compressed sparse row) matrices, single or in batches, as variant values.
#pragma once

#include "treadle/kernels/Variants.h"
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"

#include <Eigen/SparseCore>

namespace treadle {

template <typename T> using CsrOf = Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>;

/// A batch of matrices of one size. Columns within a row are sorted. At rank 2 the batch is a
/// single matrix.
class CsrObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "compressed sparse matrix";
  std::string_view kind() const override { return kindName; }

  /// `rowStarts` has rows + 1 offsets for each matrix, relative to the matrix.
  CsrObject(std::vector<int64_t> shape, std::vector<int32_t> batchStarts, Tensor rowStarts,
            Tensor columns, Tensor values)
      : shape(std::move(shape)), batchStarts(std::move(batchStarts)),
        rowStarts(std::move(rowStarts)), columns(std::move(columns)), values(std::move(values)) {}

  int64_t batch() const { return std::ssize(batchStarts) - 1; }
  int64_t rows() const { return shape[shape.size() - 2]; }
  int64_t width() const { return shape.back(); }
  int32_t entries(int64_t i) const { return batchStarts[i + 1] - batchStarts[i]; }
  const int32_t *starts(int64_t i) const { return rowStarts.data<int32_t>() + i * (rows() + 1); }

  /// Returns matrix `i`.
  template <typename T> Eigen::Map<const CsrOf<T>> at(int64_t i) const {
    int32_t first = batchStarts[i];
    return {rows(),
            width(),
            entries(i),
            starts(i),
            columns.data<int32_t>() + first,
            values.data<T>() + first};
  }

  const std::vector<int64_t> shape; // of rank 2 or 3
  const std::vector<int32_t> batchStarts;
  const Tensor rowStarts, columns, values; // int32, int32, and the values' dtype
};

/// Returns the matrices in input `i`, which must have that dtype unless it is Invalid; null after
/// failing the op.
const CsrObject *csrInput(OpContext &ctx, int i, DType dtype);

/// Returns a bind function for `Kernel<T>::run`, with T from the attribute `type`.
template <template <typename> class Kernel, typename Types = MatrixTypes>
Expected<BoundKernel> bindCsr(const BindContext &node) {
  return bindForType<Kernel, Types>(node, node.attrs.getOr("type", DType::Invalid));
}

/// Makes matrices from entries with indices [n, rank] in row-major order. Returns null after
/// failing the op if these are unsorted or out of range of the shape, which must have rank 2 or 3.
Ref<CsrObject> csrOfEntries(OpContext &ctx, std::vector<int64_t> shape, const Tensor &indices,
                            Tensor values);

/// Makes a batch of compressed matrices. Returns null after failing the op if there are too many
/// entries.
template <typename T>
Ref<CsrObject> csrOfMatrices(OpContext &ctx, std::vector<int64_t> shape,
                             std::span<const CsrOf<T>> matrices) {
  std::vector<int32_t> batchStarts{0};
  for (const CsrOf<T> &m : matrices) {
    int32_t next = 0;
    if (__builtin_add_overflow(batchStarts.back(), m.nonZeros(), &next)) {
      ctx.fail(invalidArgument("the sparse matrices have more entries than an int32 counts"));
      return nullptr;
    }
    batchStarts.push_back(next);
  }
  int64_t starts = shape[shape.size() - 2] + 1;
  auto rowStarts = ctx.check(Tensor::make(DType::Int32, {std::ssize(matrices) * starts}));
  auto columns = ctx.check(Tensor::make(DType::Int32, {batchStarts.back()}));
  auto values = ctx.check(Tensor::make(dtypeOf<T>, {batchStarts.back()}));
  if (!rowStarts || !columns || !values)
    return nullptr;
  for (size_t i = 0; i < matrices.size(); ++i) {
    std::copy_n(matrices[i].outerIndexPtr(), starts,
                rowStarts->template data<int32_t>() + static_cast<int64_t>(i) * starts);
    std::copy_n(matrices[i].innerIndexPtr(), matrices[i].nonZeros(),
                columns->template data<int32_t>() + batchStarts[i]);
    std::copy_n(matrices[i].valuePtr(), matrices[i].nonZeros(),
                values->template data<T>() + batchStarts[i]);
  }
  return makeRef<CsrObject>(std::move(shape), std::move(batchStarts), std::move(*rowStarts),
                            std::move(*columns), std::move(*values));
}

} // namespace treadle
