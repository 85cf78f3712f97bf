// Least squares, and the gradient of the Cholesky decomposition.
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>

namespace treadle {
namespace {

// --- least squares -------------------------------------------------------------------------------

// Solves by the normal equations; false if these have no unique solution.
template <typename M>
[[gnu::noinline]] bool solveNormal(const M &a, const M &b, double regularizer, M &x) {
  bool isTall = a.rows() >= a.cols();
  M adjoint = a.adjoint(), gram = isTall ? adjoint * a : a * adjoint;
  gram.diagonal().array() += typename M::Scalar(regularizer);
  Eigen::LLT<M> factor(gram);
  if (factor.info() != Eigen::Success)
    return false;
  if (isTall)
    x = factor.solve(M(adjoint * b));
  else
    x = adjoint * M(factor.solve(b));
  return true;
}

// Solves by an orthogonal decomposition: the solution with the smallest norm.
template <typename M> [[gnu::noinline]] M solveOrthogonal(const M &a, const M &b) {
  return Eigen::CompleteOrthogonalDecomposition<M>(a).solve(b);
}

template <typename T> struct SolveLsKernel {

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), right = ctx.input(1);
    Matrices m, rhs;
    if (!m.read(ctx, in) || !rhs.read(ctx, right))
      return;
    if (m.rows != rhs.rows || m.batchDims != rhs.batchDims)
      return ctx.fail(invalidArgument("matrices of shape ", dimsText(in.dims()),
                                      " do not match right-hand sides of shape ",
                                      dimsText(right.dims())));
    if (!ctx.input(2).isScalar())
      return ctx.fail(invalidArgument("l2_regularizer must be a scalar, but has shape ",
                                      dimsText(ctx.input(2).dims())));
    double regularizer = ctx.input(2).scalarValue<double>();
    if (!(regularizer >= 0))
      return ctx.fail(invalidArgument("l2_regularizer is ", regularizer, ", expected 0 or more"));
    Tensor *out = ctx.allocateOutput(0, in.dtype(), m.dimsWith({m.columns, rhs.columns}));
    for (int64_t i = 0; out && out->count() && i < m.batch; ++i) {
      auto outAt = matrixAt<T>(*out, i, m.columns, rhs.columns);
      outAt.setZero();
      if (m.rows == 0)
        continue;
      WideMatrix<T> a = widened<T>(m, in, i), b = widened<T>(rhs, right, i), x;
      if (!ctx.state<bool>())
        x = solveOrthogonal(a, b);
      else if (!solveNormal(a, b, regularizer, x))
        return ctx.fail(invalidArgument("matrix ", i,
                                        " is rank deficient or ill-conditioned; try "
                                        "fast=false or a larger l2_regularizer"));
      outAt = x.template cast<T>();
    }
  }
};

Expected<BoundKernel> bindSolveLs(const BindContext &node) {
  return bindByType<SolveLsKernel, MatrixTypes>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, node.attrs.getOr<bool>("fast", true)); });
}

// --- CholeskyGrad --------------------------------------------------------------------------------

// Returns the gradient for the factor L and its gradient G: the symmetric part of L^-T P L^-1,
// where P is the lower triangle of L^T G with its diagonal halved (Murray, "Differentiation of the
// Cholesky decomposition", 2016).
[[gnu::noinline]] Eigen::MatrixXd choleskyGradient(Eigen::MatrixXd l, Eigen::MatrixXd gradient) {
  l = Eigen::MatrixXd(l.triangularView<Eigen::Lower>());
  gradient = Eigen::MatrixXd(gradient.triangularView<Eigen::Lower>());
  Eigen::MatrixXd product = l.transpose() * gradient;
  Eigen::MatrixXd p = product.triangularView<Eigen::Lower>();
  p.diagonal() *= 0.5;
  Eigen::MatrixXd upper = l.transpose();
  Eigen::MatrixXd half = upper.triangularView<Eigen::Upper>().solve(p);
  Eigen::MatrixXd turned = half.transpose();
  Eigen::MatrixXd s = upper.triangularView<Eigen::Upper>().solve(turned);
  return 0.5 * (s + s.transpose());
}

template <typename T> struct CholeskyGradKernel {
  static void run(OpContext &ctx) {
    const Tensor factor = ctx.input(0), gradient = ctx.input(1);
    Matrices m, g;
    if (!m.readSquare(ctx, factor) || !g.readSquare(ctx, gradient))
      return;
    if (!std::ranges::equal(factor.dims(), gradient.dims()))
      return ctx.fail(invalidArgument("the gradient of factors of shape ", dimsText(factor.dims()),
                                      " has shape ", dimsText(gradient.dims())));
    Tensor *out = ctx.allocateOutput(0, factor.dtype(), factor.dims());
    for (int64_t i = 0; out && i < m.batch && m.rows; ++i) {
      matrixAt<T>(*out, i, m.rows, m.rows) =
          choleskyGradient(widened<T>(m, factor, i), widened<T>(g, gradient, i)).template cast<T>();
    }
  }
};

const KernelEntry leastSquaresTable[] = {
    {"MatrixSolveLs", bindSolveLs},
    {"BatchMatrixSolveLs", bindSolveLs},
    {"CholeskyGrad", bindByType<CholeskyGradKernel, TypeList<float, double>>},
    {"BatchCholeskyGrad", bindByType<CholeskyGradKernel, TypeList<float, double>>},
};

} // namespace

std::span<const KernelEntry> leastSquaresKernels() { return leastSquaresTable; }

} // namespace treadle
