// Matrices with few diagonals: linear systems with tridiagonal and banded triangular matrices, and
// products with tridiagonal matrices.
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"

#include <utility>

namespace treadle {
namespace {

bool checkRows(OpContext &ctx, const Matrices &bands, const Matrices &rhs) {
  if (bands.columns == rhs.rows)
    return true;
  ctx.fail(invalidArgument("diagonals of ", bands.columns,
                           " elements do not match right-hand sides of ", rhs.rows, " rows"));
  return false;
}

bool checkBatch(OpContext &ctx, const Matrices &a, const Matrices &b) {
  if (a.batchDims == b.batchDims)
    return true;
  ctx.fail(invalidArgument("batch dimensions differ: ", dimsText(a.batchDims), " and ",
                           dimsText(b.batchDims)));
  return false;
}

// --- TridiagonalSolve ----------------------------------------------------------------------------

// Gaussian elimination. With pivoting, a row may have a second superdiagonal.
template <typename T> class TridiagonalSolver {
public:
  TridiagonalSolver(ConstMatrixMap<T> diagonals, MatrixMap<T> x, bool pivots)
      : above(diagonals.row(0)), main(diagonals.row(1)), below(diagonals.row(2)),
        farther(main.size()), x(x), pivots(pivots) {
    farther.setZero();
  }

  /// Replaces the right-hand side in `x` by the solution. Returns false if there is none, which
  /// TensorFlow doesn't treat as an error.
  bool solve() {
    Eigen::Index n = main.size();
    above[n - 1] = T(0);
    for (Eigen::Index i = 0; i + 1 < n; ++i)
      if (!eliminate(i))
        return false;
    if (main[n - 1] == T(0))
      return false;
    for (Eigen::Index i = n; i-- > 0;) {
      if (i + 1 < n)
        x.row(i) -= above[i] * x.row(i + 1);
      if (i + 2 < n)
        x.row(i) -= farther[i] * x.row(i + 2);
      x.row(i) /= main[i];
    }
    return true;
  }

private:
  // Eliminates below[i + 1] by row i, which is swapped with row i + 1 if that has the larger
  // element.
  bool eliminate(Eigen::Index i) {
    if (pivots && std::abs(main[i]) < std::abs(below[i + 1])) {
      std::swap(main[i], below[i + 1]);
      std::swap(above[i], main[i + 1]);
      std::swap(farther[i], above[i + 1]);
      x.row(i).swap(x.row(i + 1));
    }
    if (main[i] == T(0))
      return false;
    T factor = below[i + 1] / main[i];
    main[i + 1] -= factor * above[i];
    above[i + 1] -= factor * farther[i];
    x.row(i + 1) -= factor * x.row(i);
    return true;
  }

  Eigen::Matrix<T, 1, Eigen::Dynamic> above, main, below, farther;
  MatrixMap<T> x;
  bool pivots;
};

template <typename T> struct TridiagonalSolveKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), right = ctx.input(1);
    Matrices m, rhs;
    if (!m.read(ctx, in) || !rhs.read(ctx, right) || !checkBatch(ctx, m, rhs) ||
        !checkRows(ctx, m, rhs))
      return;
    if (m.rows != 3)
      return ctx.fail(
          invalidArgument("diagonals must be three rows, but have shape ", dimsText(in.dims())));
    Tensor *out = ctx.allocateOutput(0, in.dtype(), right.dims());
    for (int64_t i = 0; out && m.columns && i < m.batch; ++i) {
      auto x = matrixAt<T>(*out, i, rhs.rows, rhs.columns);
      x = rhs.at<T>(right, i);
      if (!TridiagonalSolver<T>(m.at<T>(in, i), x, ctx.state<bool>()).solve())
        x.setConstant(T(std::numeric_limits<typename Eigen::NumTraits<T>::Real>::quiet_NaN()));
    }
  }
};

Expected<BoundKernel> bindTridiagonalSolve(const BindContext &node) {
  if (node.attrs.getOr<bool>("perturb_singular", false))
    return Unexpected(unimplemented("op '", node.op, "' does not support perturb_singular"));
  return bindByType<TridiagonalSolveKernel, MatrixTypes>(node).map([&](BoundKernel bound) {
    return boundWith(bound.fn, node.attrs.getOr<bool>("partial_pivoting", true));
  });
}

// --- TridiagonalMatMul ---------------------------------------------------------------------------

// Inputs: the superdiagonal, the diagonal and the subdiagonal, as rows, and the other matrix.
template <typename T> struct TridiagonalMatMulKernel {
  static void run(OpContext &ctx) {
    const Tensor right = ctx.input(3);
    Matrices rhs, diagonal;
    if (!rhs.read(ctx, right))
      return;
    for (int i = 0; i < 3; ++i) {
      if (!diagonal.read(ctx, ctx.input(i)) || !checkBatch(ctx, diagonal, rhs))
        return;
      if (diagonal.rows != 1 || diagonal.columns != rhs.rows)
        return ctx.fail(invalidArgument("diagonal ", i, " must be a row of ", rhs.rows,
                                        " elements, but has shape ",
                                        dimsText(ctx.input(i).dims())));
    }
    Tensor *out = ctx.allocateOutput(0, right.dtype(), right.dims());
    for (int64_t i = 0; out && out->count() && i < rhs.batch; ++i)
      multiply(diagonal.at<T>(ctx.input(0), i), diagonal.at<T>(ctx.input(1), i),
               diagonal.at<T>(ctx.input(2), i), rhs.at<T>(right, i),
               matrixAt<T>(*out, i, rhs.rows, rhs.columns));
  }

  static void multiply(ConstMatrixMap<T> above, ConstMatrixMap<T> main, ConstMatrixMap<T> below,
                       ConstMatrixMap<T> in, MatrixMap<T> out) {
    Eigen::Index n = in.rows();
    for (Eigen::Index r = 0; r < n; ++r) {
      out.row(r) = main(0, r) * in.row(r);
      if (r + 1 < n)
        out.row(r) += above(0, r) * in.row(r + 1);
      if (r > 0)
        out.row(r) += below(0, r) * in.row(r - 1);
    }
  }
};

// --- BandedTriangularSolve -----------------------------------------------------------------------

struct BandedState {
  bool isLower, isAdjoint;
};

// A triangular band matrix: element (i, i -+ k) is element (k, i) of the bands of a lower one;
// bands of an upper one are counted from the last.
template <typename T> class BandedSolver {
public:
  BandedSolver(ConstMatrixMap<T> bands, BandedState s) : bands(bands), s(s) {}

  bool isSingular() const { return (bands.row(row(0)).array() == T(0)).any(); }

  void solve(MatrixMap<T> x) const {
    Eigen::Index n = bands.cols(), width = bands.rows();
    bool isForward = s.isLower != s.isAdjoint;
    for (Eigen::Index step = 0; step < n; ++step) {
      Eigen::Index i = isForward ? step : n - 1 - step;
      for (Eigen::Index k = 1; k < width && k <= step; ++k) {
        Eigen::Index j = isForward ? i - k : i + k;
        x.row(i) -= element(k, i, j) * x.row(j);
      }
      x.row(i) /= element(0, i, i);
    }
  }

private:
  Eigen::Index row(Eigen::Index k) const { return s.isLower ? k : bands.rows() - 1 - k; }
  // Returns element (i, j); of the adjoint the conjugate of (j, i).
  T element(Eigen::Index k, Eigen::Index i, Eigen::Index j) const {
    return s.isAdjoint ? Eigen::numext::conj(bands(row(k), j)) : bands(row(k), i);
  }

  ConstMatrixMap<T> bands;
  BandedState s;
};

template <typename T> struct BandedSolveKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), right = ctx.input(1);
    Matrices m, rhs;
    if (!m.read(ctx, in) || !rhs.read(ctx, right) || !checkRows(ctx, m, rhs))
      return;
    if (!in.count() || !right.count())
      return ctx.fail(invalidArgument("bands and right-hand sides must not be empty, but have "
                                      "shapes ",
                                      dimsText(in.dims()), " and ", dimsText(right.dims())));
    BroadcastPlan<2> plan;
    if (!planBroadcast<2>({m.batchDims, rhs.batchDims}, plan))
      return ctx.fail(invalidArgument("batch dimensions do not broadcast: ", dimsText(in.dims()),
                                      " and ", dimsText(right.dims())));
    Matrices result = rhs;
    result.batchDims.assign(plan.dims, plan.dims + plan.rank);
    Tensor *out = TREADLE_OR_RETURN(
        ctx.allocateOutput(0, in.dtype(), result.dimsWith({rhs.rows, rhs.columns})));
    int inner = plan.loops - 1;
    forEachRow<2>(plan, [&](const std::array<int64_t, 2> &at, int64_t begin) {
      for (int64_t i = 0; i < plan.size[inner] && !ctx.hasFailed(); ++i) {
        BandedSolver<T> solver(m.at<T>(in, at[0] + i * plan.stride[0][inner]),
                               ctx.state<BandedState>());
        if (solver.isSingular())
          return ctx.fail(invalidArgument("the matrix is not invertible"));
        auto x = matrixAt<T>(*out, begin + i, rhs.rows, rhs.columns);
        x = rhs.at<T>(right, at[1] + i * plan.stride[1][inner]);
        solver.solve(x);
      }
    });
  }
};

Expected<BoundKernel> bindBandedSolve(const BindContext &node) {
  return bindByType<BandedSolveKernel, MatrixTypes>(node).map([&](BoundKernel bound) {
    return boundWith(bound.fn, BandedState{node.attrs.getOr<bool>("lower", true),
                                           node.attrs.getOr<bool>("adjoint", false)});
  });
}

const KernelEntry bandedMatrixTable[] = {
    {"TridiagonalSolve", bindTridiagonalSolve},
    {"TridiagonalMatMul", bindByType<TridiagonalMatMulKernel, MatrixTypes>},
    {"BandedTriangularSolve", bindBandedSolve},
};

} // namespace

std::span<const KernelEntry> bandedMatrixKernels() { return bandedMatrixTable; }

} // namespace treadle
