// Products of CSR matrices, their transposes, orderings and Cholesky factors.
#include "treadle/kernels/sparse/CsrMatrix.h"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCholesky>

#include <algorithm>

namespace treadle {
namespace {

/// Whether an operand is transposed, and possibly conjugated.
struct OperandTransform {
  bool transposes = false, conjugates = false;

  static Expected<OperandTransform> of(const BindContext &node, std::string_view operand) {
    bool transposes = node.attrs.getOr(str("transpose_", operand), false);
    bool adjoins = node.attrs.getOr(str("adjoint_", operand), false);
    if (transposes && adjoins)
      return Unexpected(invalidArgument("transpose_", operand, " and adjoint_", operand,
                                        " are both true, expected one at most"));
    return OperandTransform{transposes || adjoins, adjoins};
  }
};

struct ProductState {
  OperandTransform a, b;
  bool transposesOut, conjugatesOut;
};

Expected<ProductState> productState(const BindContext &node) {
  auto a = OperandTransform::of(node, "a"), b = OperandTransform::of(node, "b");
  if (!a || !b)
    return Unexpected(std::move((a ? b : a).error()));
  return ProductState{*a, *b, node.attrs.getOr("transpose_output", false),
                      node.attrs.getOr("conjugate_output", false)};
}

template <typename T>
CsrOf<T> operandMatrix(const CsrObject &matrix, int64_t i, OperandTransform turn) {
  if (turn.conjugates)
    return matrix.at<T>(i).adjoint();
  return turn.transposes ? CsrOf<T>(matrix.at<T>(i).transpose()) : CsrOf<T>(matrix.at<T>(i));
}

bool checkInnerDims(OpContext &ctx, int64_t a, int64_t b, Dims aShape, Dims bShape) {
  if (a == b)
    return true;
  ctx.fail(invalidArgument("the inner dimensions of ", dimsText(aShape), " and ", dimsText(bShape),
                           " are ", a, " and ", b, ", expected equal ones"));
  return false;
}

// --- times a dense matrix ----------------------------------------------------------------------

template <typename T> MatrixOf<T> operandMatrix(const Tensor &t, int64_t i, OperandTransform turn) {
  ConstMatrixMap<T> matrix(t.data<T>() + i * t.dim(t.rank() - 2) * t.dim(t.rank() - 1),
                           t.dim(t.rank() - 2), t.dim(t.rank() - 1));
  if (turn.conjugates)
    return matrix.adjoint();
  return turn.transposes ? MatrixOf<T>(matrix.transpose()) : MatrixOf<T>(matrix);
}

template <typename T> struct DenseProduct {
  static void run(OpContext &ctx) {
    const auto &state = ctx.state<ProductState>();
    const CsrObject *a = TREADLE_OR_RETURN(csrInput(ctx, 0, dtypeOf<T>));
    const Tensor &b = ctx.input(1);
    auto rank = static_cast<int>(a->shape.size());
    if (b.rank() != rank || (rank == 3 && b.dim(0) != a->batch()))
      return ctx.fail(invalidArgument("the operands' shapes are ", dimsText(a->shape), " and ",
                                      dimsText(b.dims()), ", expected equal ranks and batches"));
    if (!checkInnerDims(ctx, state.a.transposes ? a->rows() : a->width(),
                        b.dim(state.b.transposes ? rank - 1 : rank - 2), a->shape, b.dims()))
      return;
    int64_t rows = state.a.transposes ? a->width() : a->rows();
    int64_t columns = b.dim(state.b.transposes ? rank - 2 : rank - 1);
    if (state.transposesOut)
      std::swap(rows, columns);
    std::vector<int64_t> dims = a->shape;
    dims[rank - 2] = rows;
    dims[rank - 1] = columns;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, dims));
    double work = static_cast<double>(columns) * a->values.count() + rows * columns;
    ctx.parallelFor(a->batch(), work / static_cast<double>(std::max<int64_t>(a->batch(), 1)),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i)
                        multiply(state, operandMatrix<T>(*a, i, state.a),
                                 operandMatrix<T>(b, i, state.b),
                                 matrixAt<T>(*out, i, rows, columns));
                    });
  }

  static void multiply(const ProductState &state, const CsrOf<T> &a, const MatrixOf<T> &b,
                       MatrixMap<T> out) {
    MatrixOf<T> product = a * b;
    if (state.conjugatesOut)
      product = product.conjugate().eval();
    if (state.transposesOut)
      out = product.transpose();
    else
      out = product;
  }
};

Expected<BoundKernel> bindDenseProduct(const BindContext &node) {
  BoundKernel bound = TREADLE_TRY(bindForType<DenseProduct, MatrixTypes>(node, node.inputTypes[1]));
  return expensive(boundWith(bound.fn, TREADLE_TRY(productState(node))));
}

// --- times a sparse matrix ---------------------------------------------------------------------

template <typename T> struct SparseProduct {
  static void run(OpContext &ctx) {
    const auto &state = ctx.state<ProductState>();
    const CsrObject *a = csrInput(ctx, 0, dtypeOf<T>);
    const CsrObject *b = TREADLE_OR_RETURN(a ? csrInput(ctx, 1, dtypeOf<T>) : nullptr);
    if (a->batch() != b->batch() || a->shape.size() != b->shape.size())
      return ctx.fail(invalidArgument("the operands' shapes are ", dimsText(a->shape), " and ",
                                      dimsText(b->shape), ", expected equal ranks and batches"));
    if (!checkInnerDims(ctx, state.a.transposes ? a->rows() : a->width(),
                        state.b.transposes ? b->width() : b->rows(), a->shape, b->shape))
      return;
    std::vector<int64_t> shape = a->shape;
    shape[shape.size() - 2] = state.a.transposes ? a->width() : a->rows();
    shape.back() = state.b.transposes ? b->rows() : b->width();
    std::vector<CsrOf<T>> products(a->batch());
    double work = 10.0 * (static_cast<double>(a->values.count()) + b->values.count());
    ctx.parallelFor(a->batch(), work, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        products[i] = operandMatrix<T>(*a, i, state.a) * operandMatrix<T>(*b, i, state.b);
    });
    if (auto product = csrOfMatrices<T>(ctx, std::move(shape), products))
      ctx.setOutput(0, makeVariant(std::move(product)));
  }
};

Expected<BoundKernel> bindSparseProduct(const BindContext &node) {
  BoundKernel bound = TREADLE_TRY(bindCsr<SparseProduct>(node));
  return expensive(boundWith(bound.fn, TREADLE_TRY(productState(node))));
}

// --- transposes --------------------------------------------------------------------------------

template <typename T> struct TransposeKernel {
  static void run(OpContext &ctx) {
    const CsrObject *in = TREADLE_OR_RETURN(csrInput(ctx, 0, dtypeOf<T>));
    std::vector<int64_t> shape = in->shape;
    std::swap(shape.back(), shape[shape.size() - 2]);
    std::vector<CsrOf<T>> matrices;
    for (int64_t i = 0; i < in->batch(); ++i)
      matrices.push_back(operandMatrix<T>(*in, i, {true, ctx.state<bool>()}));
    if (auto out = csrOfMatrices<T>(ctx, std::move(shape), matrices))
      ctx.setOutput(0, makeVariant(std::move(out)));
  }
};

Expected<BoundKernel> bindTranspose(const BindContext &node) {
  return bindCsr<TransposeKernel>(node).map([&](const BoundKernel &bound) {
    return boundWith(bound.fn, node.attrs.getOr("conjugate", false));
  });
}

// --- Cholesky factors --------------------------------------------------------------------------

bool checkSquare(OpContext &ctx, const CsrObject &in) {
  if (in.rows() == in.width())
    return true;
  ctx.fail(invalidArgument("the sparse matrix has shape ", dimsText(in.shape),
                           ", expected a square one"));
  return false;
}

void order(OpContext &ctx) {
  const CsrObject *in = csrInput(ctx, 0, DType::Invalid);
  if (!in || !checkSquare(ctx, *in))
    return;
  Tensor *out = ctx.allocateOutput(0, DType::Int32, Dims(in->shape).first(in->shape.size() - 1));
  for (int64_t i = 0; out && i < in->batch(); ++i) {
    // Only the sparsity pattern matters, so the columns can serve as values.
    const int32_t *columns = in->columns.data<int32_t>() + in->batchStarts[i];
    Eigen::Map<const CsrOf<int32_t>> pattern(in->rows(), in->rows(), in->entries(i), in->starts(i),
                                             columns, columns);
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
    Eigen::AMDOrdering<int>()(pattern.selfadjointView<Eigen::Lower>(), permutation);
    std::copy_n(permutation.indices().data(), in->rows(), out->data<int32_t>() + i * in->rows());
  }
}

// Whether the numbers are a permutation of 0 to `count` - 1.
bool isPermutation(const int32_t *numbers, int64_t count) {
  std::vector<bool> isSeen(count);
  for (int64_t i = 0; i < count; ++i) {
    if (numbers[i] < 0 || numbers[i] >= count || isSeen[numbers[i]])
      return false;
    isSeen[numbers[i]] = true;
  }
  return true;
}

// Inputs: matrices, of which only the lower triangles are read, and the permutation of their rows.
template <typename T> struct CholeskyKernel {
  static void run(OpContext &ctx) {
    const CsrObject *in = csrInput(ctx, 0, dtypeOf<T>);
    if (!in || !checkSquare(ctx, *in))
      return;
    const Tensor &order = ctx.input(1);
    if (!std::ranges::equal(order.dims(), Dims(in->shape).first(in->shape.size() - 1)))
      return ctx.fail(invalidArgument("permutation is ", tensorTypeText(order),
                                      ", expected the rows of ", dimsText(in->shape)));
    std::vector<CsrOf<T>> factors;
    for (int64_t i = 0; i < in->batch(); ++i) {
      const int32_t *rows = order.data<int32_t>() + i * in->rows();
      if (!isPermutation(rows, in->rows()))
        return ctx.fail(invalidArgument("permutation ", i, " doesn't contain each row once"));
      if (!factorize(*in, i, rows, factors))
        return ctx.fail(invalidArgument("matrix ", i,
                                        " has no Cholesky factor, expected one that "
                                        "is positive definite"));
    }
    if (auto out = csrOfMatrices<T>(ctx, in->shape, factors))
      ctx.setOutput(0, makeVariant(std::move(out)));
  }

  // The solver expects CSC: read that way, the matrix (which equals its adjoint) is its conjugate,
  // and the upper factor read by rows is the lower one.
  static bool factorize(const CsrObject &in, int64_t i, const int32_t *rows,
                        std::vector<CsrOf<T>> &factors) {
    using ByColumns = Eigen::SparseMatrix<T, Eigen::ColMajor, int32_t>;
    int32_t first = in.batchStarts[i];
    Eigen::Map<const ByColumns> matrix(in.rows(), in.rows(), in.entries(i), in.starts(i),
                                       in.columns.data<int32_t>() + first,
                                       in.values.data<T>() + first);
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation(in.rows());
    std::copy_n(rows, in.rows(), permutation.indices().data());
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> inverse = permutation.inverse();
    ByColumns permuted(in.rows(), in.rows());
    permuted.template selfadjointView<Eigen::Upper>() =
        matrix.template selfadjointView<Eigen::Upper>().twistedBy(inverse);
    Eigen::SimplicialLLT<ByColumns, Eigen::Upper, Eigen::NaturalOrdering<int>> solver;
    solver.compute(permuted);
    if (solver.info() != Eigen::Success)
      return false;
    ByColumns upper = solver.matrixU();
    upper.makeCompressed();
    factors.push_back(Eigen::Map<const CsrOf<T>>(in.rows(), in.rows(), upper.nonZeros(),
                                                 upper.outerIndexPtr(), upper.innerIndexPtr(),
                                                 upper.valuePtr()));
    return true;
  }
};

const KernelEntry csrProductTable[] = {
    {"SparseMatrixMatMul", bindDenseProduct},
    {"SparseMatrixOrderingAMD", bindPlain<order>},
    {"SparseMatrixSparseCholesky", bindCsr<CholeskyKernel>},
    {"SparseMatrixSparseMatMul", bindSparseProduct},
    {"SparseMatrixTranspose", bindTranspose},
};

} // namespace

std::span<const KernelEntry> csrProductKernels() { return csrProductTable; }

} // namespace treadle
