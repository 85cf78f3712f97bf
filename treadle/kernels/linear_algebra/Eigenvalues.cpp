// Eigenvalues and eigenvectors, of self-adjoint matrices and of any.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"
#include "treadle/kernels/linear_algebra/Spectra.h"

#include <Eigen/Eigenvalues>

namespace treadle {
namespace {

template <typename Solver, typename W>
bool give(const Solver &solver, bool hasVectors, Eigensystem<W> &result) {
  if (solver.info() != Eigen::Success)
    return false;
  result.values = solver.eigenvalues().template cast<W>();
  if (hasVectors)
    result.vectors = solver.eigenvectors();
  return true;
}

} // namespace

template <typename W>
bool solveSelfAdjoint(const Columns<W> &matrix, bool hasVectors, Eigensystem<W> &result) {
  Eigen::SelfAdjointEigenSolver<Columns<W>> solver(matrix, hasVectors ? Eigen::ComputeEigenvectors
                                                                      : Eigen::EigenvaluesOnly);
  return give(solver, hasVectors, result);
}
template bool solveSelfAdjoint(const Columns<double> &, bool, Eigensystem<double> &);
template bool solveSelfAdjoint(const Columns<Complex128> &, bool, Eigensystem<Complex128> &);

bool solveGeneral(const Columns<Complex128> &matrix, bool hasVectors,
                  Eigensystem<Complex128> &result) {
  Eigen::ComplexEigenSolver<Columns<Complex128>> solver(matrix, hasVectors);
  return give(solver, hasVectors, result);
}

namespace {

Error notFound(int64_t i) {
  return invalidArgument("the eigenvalues of matrix ", i,
                         " were not found; is everything in it finite?");
}

template <typename T> struct SelfAdjointEigKernel {
  static void run(OpContext &ctx) {
    bool hasVectors = ctx.state<bool>();
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *values = ctx.allocateOutput(0, in.dtype(), m.dimsWith({m.rows}));
    Tensor *vectors = hasVectors ? ctx.allocateOutput(1, in.dtype(), in.dims())
                                 : ctx.allocateOutput(1, in.dtype(), {0});
    Eigensystem<Wide<T>> result;
    for (int64_t i = 0; values && vectors && i < m.batch && m.rows; ++i) {
      if (!solveSelfAdjoint<Wide<T>>(widened<T>(m, in, i), hasVectors, result))
        return ctx.fail(notFound(i));
      matrixAt<T>(*values, i, m.rows, 1) = result.values.template cast<T>();
      if (hasVectors)
        matrixAt<T>(*vectors, i, m.rows, m.rows) = result.vectors.template cast<T>();
    }
  }
};

// The first form gives values and vectors in one output, the values in its first row.
template <typename T> struct JoinedEigKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), m.dimsWith({m.rows + 1, m.rows}));
    Eigensystem<Wide<T>> result;
    for (int64_t i = 0; out && i < m.batch && m.rows; ++i) {
      if (!solveSelfAdjoint<Wide<T>>(widened<T>(m, in, i), true, result))
        return ctx.fail(notFound(i));
      T *joined = out->data<T>() + i * (m.rows + 1) * m.rows;
      MatrixMap<T>(joined, m.rows, 1) = result.values.template cast<T>();
      MatrixMap<T>(joined + m.rows, m.rows, m.rows) = result.vectors.template cast<T>();
    }
  }
};

// Those of any matrix are complex, whatever the input is.
template <typename T> struct EigKernel {
  using Out = std::complex<typename Eigen::NumTraits<T>::Real>;

  static void run(OpContext &ctx) {
    bool hasVectors = ctx.state<bool>();
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *values = ctx.allocateOutput(0, dtypeOf<Out>, m.dimsWith({m.rows}));
    Tensor *vectors = hasVectors ? ctx.allocateOutput(1, dtypeOf<Out>, in.dims())
                                 : ctx.allocateOutput(1, dtypeOf<Out>, {0});
    Eigensystem<Complex128> result;
    for (int64_t i = 0; values && vectors && i < m.batch && m.rows; ++i) {
      if (!solveGeneral(m.at<T>(in, i).template cast<Complex128>(), hasVectors, result))
        return ctx.fail(notFound(i));
      matrixAt<Out>(*values, i, m.rows, 1) = result.values.template cast<Out>();
      if (hasVectors)
        matrixAt<Out>(*vectors, i, m.rows, m.rows) = result.vectors.template cast<Out>();
    }
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindEigenvalues(const BindContext &node) {
  return bindByType<Kernel, MatrixTypes>(node).map([&](BoundKernel bound) {
    return boundWith(bound.fn, node.attrs.getOr<bool>("compute_v", true));
  });
}

const KernelEntry eigenvalueTable[] = {
    {"SelfAdjointEig", bindEigenvalues<JoinedEigKernel>},
    {"SelfAdjointEigV2", bindEigenvalues<SelfAdjointEigKernel>},
    {"Eig", bindEigenvalues<EigKernel>},
    {"BatchSelfAdjointEig", bindEigenvalues<JoinedEigKernel>},
    {"BatchSelfAdjointEigV2", bindEigenvalues<SelfAdjointEigKernel>},
};

} // namespace

std::span<const KernelEntry> eigenvalueKernels() { return eigenvalueTable; }

} // namespace treadle
