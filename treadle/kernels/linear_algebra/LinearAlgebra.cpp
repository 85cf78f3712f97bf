// Cholesky decomposition, inverses, determinants and linear systems.
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/linear_algebra/LapackLibrary.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>

namespace treadle {

bool Matrices::read(OpContext &ctx, const Tensor &t) {
  if (t.rank() < 2) {
    ctx.fail(
        invalidArgument("the input must have rank 2 or more, but has shape ", dimsText(t.dims())));
    return false;
  }
  rows = t.dim(t.rank() - 2);
  columns = t.dim(t.rank() - 1);
  batchDims.assign(t.dims().begin(), t.dims().end() - 2);
  batch = countElements(batchDims).value_or(0);
  return true;
}

bool Matrices::readSquare(OpContext &ctx, const Tensor &t) {
  if (!read(ctx, t))
    return false;
  if (rows == columns)
    return true;
  ctx.fail(
      invalidArgument("matrices must be square, but the input has shape ", dimsText(t.dims())));
  return false;
}

std::vector<int64_t> Matrices::dimsWith(std::initializer_list<int64_t> inner) const {
  std::vector<int64_t> dims = batchDims;
  dims.insert(dims.end(), inner);
  return dims;
}

namespace {

constexpr const char *notInvertible = "the matrix is not invertible";

template <typename T> bool hasZeroPivot(const Eigen::PartialPivLU<MatrixOf<T>> &lu) {
  return !(lu.matrixLU().diagonal().cwiseAbs().minCoeff() > 0);
}

// Allocates the output of an op with one square matrix per input matrix; null if ctx failed or the
// output is empty.
Tensor *allocateSquareOutput(OpContext &ctx, const Tensor &in, Matrices &m) {
  if (!m.readSquare(ctx, in))
    return nullptr;
  Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
  return out && out->count() ? out : nullptr;
}

template <typename T> struct CholeskyKernel {
  // Both functions leave undefined values above the diagonal.
  static bool factorByEigen(const T *matrix, MatrixMap<T> factor) {
    std::copy_n(matrix, factor.size(), factor.data());
    return Eigen::internal::llt_inplace<T, Eigen::Lower>::blocked(factor) < 0;
  }
  static bool factorByLapack(const T *matrix, MatrixMap<T> factor) {
    int64_t size = factor.rows();
    std::vector<T> byColumns(static_cast<size_t>(size * size));
    transposeMatrix(matrix, size, size, byColumns.data());
    if (lapack::cholesky(byColumns.data(), size, true) != 0)
      return false;
    transposeMatrix(byColumns.data(), size, size, factor.data());
    return true;
  }

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    Tensor *out = TREADLE_OR_RETURN(allocateSquareOutput(ctx, in, m));
    int64_t failed = firstFailure(ctx, m, 0.3, [&](int64_t i) {
      MatrixMap<T> factor = matrixAt<T>(*out, i, m.rows, m.rows);
      const T *matrix = m.at<T>(in, i).data();
      bool isFound = lapack::isFasterCholesky(m.rows) ? factorByLapack(matrix, factor)
                                                      : factorByEigen(matrix, factor);
      for (int64_t row = 0; row < m.rows; ++row)
        std::fill_n(factor.data() + row * m.rows + row + 1, m.rows - row - 1, T(0));
      return isFound;
    });
    if (failed >= 0)
      ctx.fail(invalidArgument("the Cholesky decomposition failed: matrix ", failed,
                               " is not positive definite"));
  }
};

template <typename T> struct InverseKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    Tensor *out = TREADLE_OR_RETURN(allocateSquareOutput(ctx, in, m));
    int64_t failed = firstFailure(ctx, m, 2, [&](int64_t i) {
      MatrixOf<T> matrix = m.at<T>(in, i);
      if (ctx.state<bool>())
        matrix.adjointInPlace();
      Eigen::PartialPivLU<MatrixOf<T>> lu(matrix);
      if (hasZeroPivot(lu))
        return false;
      matrixAt<T>(*out, i, m.rows, m.rows) = lu.inverse();
      return true;
    });
    if (failed >= 0)
      ctx.fail(invalidArgument(notInvertible));
  }
};

/// Both factors in one matrix, and the permutation of the rows.
template <typename T> struct LuKernel {
  template <typename Index>
  static void give(const Eigen::PartialPivLU<MatrixOf<T>> &lu, Index *permutation) {
    auto indices = lu.permutationP().transpose().eval().indices();
    std::copy_n(indices.data(), indices.size(), permutation);
  }

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    Tensor *rows = out ? ctx.allocateOutput(1, ctx.state<DType>(), m.dimsWith({m.rows})) : nullptr;
    if (!rows || !out->count())
      return;
    int64_t failed = firstFailure(ctx, m, 0.7, [&](int64_t i) {
      Eigen::PartialPivLU<MatrixOf<T>> lu(m.at<T>(in, i));
      if (hasZeroPivot(lu))
        return false;
      matrixAt<T>(*out, i, m.rows, m.rows) = lu.matrixLU();
      if (rows->dtype() == DType::Int32)
        give(lu, rows->data<int32_t>() + i * m.rows);
      else
        give(lu, rows->data<int64_t>() + i * m.rows);
      return true;
    });
    if (failed >= 0)
      ctx.fail(invalidArgument(notInvertible));
  }
};

Expected<BoundKernel> bindLu(const BindContext &node) {
  return bindByType<LuKernel, MatrixTypes>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, DType(node.outputTypes[1])); });
}

template <typename T> struct DeterminantKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), m.batchDims));
    forEachMatrix(ctx, m, 0.7, [&](int64_t i) {
      out->data<T>()[i] =
          m.rows ? Eigen::PartialPivLU<MatrixOf<T>>(m.at<T>(in, i)).determinant() : T(1);
    });
  }
};

// The sign (or phase) of the determinant, and the logarithm of its absolute value.
template <typename T> struct LogDeterminantKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *sign = ctx.allocateOutput(0, in.dtype(), m.batchDims);
    Tensor *log = ctx.allocateOutput(1, in.dtype(), m.batchDims);
    if (!sign || !log)
      return;
    forEachMatrix(ctx, m, 0.7, [&](int64_t i) {
      T direction(1), sum(0);
      if (m.rows) {
        Eigen::PartialPivLU<MatrixOf<T>> lu(m.at<T>(in, i));
        direction = T(lu.permutationP().determinant());
        for (int64_t k = 0; k < m.rows; ++k) {
          T pivot = lu.matrixLU()(k, k);
          auto size = std::abs(pivot);
          direction = size == 0 ? T(0) : direction * (pivot / size);
          sum += std::log(size);
        }
      }
      sign->data<T>()[i] = direction;
      log->data<T>()[i] = sum;
    });
  }
};

bool checkRightHandSide(OpContext &ctx, const Matrices &matrix, const Matrices &rhs) {
  if (matrix.rows == rhs.rows)
    return true;
  ctx.fail(invalidArgument("the matrix has ", matrix.rows, " rows, but the right-hand side has ",
                           rhs.rows));
  return false;
}

template <typename T> struct SolveKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), right = ctx.input(1);
    Matrices m, rhs;
    if (!m.readSquare(ctx, in) || !rhs.read(ctx, right) || !checkRightHandSide(ctx, m, rhs))
      return;
    if (m.batchDims != rhs.batchDims)
      return ctx.fail(invalidArgument("batch dimensions differ: ", dimsText(in.dims()), " and ",
                                      dimsText(right.dims())));
    Tensor *out = ctx.allocateOutput(0, in.dtype(), right.dims());
    if (!out || !out->count())
      return;
    int64_t failed = firstFailure(ctx, m, 1, [&](int64_t i) {
      MatrixOf<T> matrix = m.at<T>(in, i);
      if (ctx.state<bool>())
        matrix.adjointInPlace();
      Eigen::PartialPivLU<MatrixOf<T>> lu(matrix);
      if (hasZeroPivot(lu))
        return false;
      matrixAt<T>(*out, i, rhs.rows, rhs.columns) = lu.solve(rhs.at<T>(right, i));
      return true;
    });
    if (failed >= 0)
      ctx.fail(invalidArgument(notInvertible));
  }
};

struct TriangularState {
  bool isLower, isAdjoint;
};

template <typename T> struct TriangularSolveKernel {
  static MatrixOf<T> solve(ConstMatrixMap<T> m, ConstMatrixMap<T> rhs, const TriangularState &s) {
    if (s.isLower)
      return s.isAdjoint
                 ? MatrixOf<T>(m.adjoint().template triangularView<Eigen::Upper>().solve(rhs))
                 : MatrixOf<T>(m.template triangularView<Eigen::Lower>().solve(rhs));
    return s.isAdjoint ? MatrixOf<T>(m.adjoint().template triangularView<Eigen::Lower>().solve(rhs))
                       : MatrixOf<T>(m.template triangularView<Eigen::Upper>().solve(rhs));
  }

  static void run(OpContext &ctx) {
    const TriangularState &s = ctx.state<TriangularState>();
    const Tensor in = ctx.input(0), right = ctx.input(1);
    Matrices m, rhs;
    if (!m.readSquare(ctx, in) || !rhs.read(ctx, right) || !checkRightHandSide(ctx, m, rhs))
      return;
    BroadcastPlan<2> plan;
    if (!planBroadcast<2>({m.batchDims, rhs.batchDims}, plan))
      return ctx.fail(invalidArgument("batch dimensions do not broadcast: ", dimsText(in.dims()),
                                      " and ", dimsText(right.dims())));
    Matrices result = rhs;
    result.batchDims.assign(plan.dims, plan.dims + plan.rank);
    Tensor *out = ctx.allocateOutput(0, in.dtype(), result.dimsWith({rhs.rows, rhs.columns}));
    if (!out || !out->count())
      return;
    for (int64_t i = 0; i < m.batch; ++i)
      if ((m.at<T>(in, i).diagonal().array() == T(0)).any())
        return ctx.fail(invalidArgument(notInvertible));
    int inner = plan.loops - 1;
    forEachRow<2>(plan, [&](const std::array<int64_t, 2> &at, int64_t begin) {
      for (int64_t i = 0; i < plan.size[inner]; ++i)
        matrixAt<T>(*out, begin + i, rhs.rows, rhs.columns) =
            solve(m.at<T>(in, at[0] + i * plan.stride[0][inner]),
                  rhs.at<T>(right, at[1] + i * plan.stride[1][inner]), s);
    });
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindMatrixOp(const BindContext &node) {
  return withState(bindByType<Kernel, MatrixTypes>(node), node.attrs.getOr<bool>("adjoint", false));
}

Expected<BoundKernel> bindTriangularSolve(const BindContext &node) {
  return withState(bindByType<TriangularSolveKernel, MatrixTypes>(node),
                   TriangularState{node.attrs.getOr<bool>("lower", true),
                                   node.attrs.getOr<bool>("adjoint", false)});
}

const KernelEntry linearAlgebraTable[] = {
    {"Cholesky", bindMatrixOp<CholeskyKernel>},
    {"MatrixInverse", bindMatrixOp<InverseKernel>},
    {"MatrixDeterminant", bindMatrixOp<DeterminantKernel>},
    {"BatchCholesky", bindMatrixOp<CholeskyKernel>},
    {"BatchMatrixInverse", bindMatrixOp<InverseKernel>},
    {"BatchMatrixDeterminant", bindMatrixOp<DeterminantKernel>},
    {"BatchMatrixSolve", bindMatrixOp<SolveKernel>},
    {"BatchMatrixTriangularSolve", bindTriangularSolve},
    {"Lu", bindLu},
    {"LogMatrixDeterminant", bindMatrixOp<LogDeterminantKernel>},
    {"MatrixSolve", bindMatrixOp<SolveKernel>},
    {"MatrixTriangularSolve", bindTriangularSolve},
};

} // namespace

std::span<const KernelEntry> linearAlgebraKernels() { return linearAlgebraTable; }

} // namespace treadle
