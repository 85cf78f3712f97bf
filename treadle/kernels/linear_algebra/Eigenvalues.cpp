// Eigenvalues and eigenvectors, of self-adjoint matrices and of any.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"

#include <Eigen/Eigenvalues>

namespace treadle {
namespace {

template <typename W> using Columns = Eigen::Matrix<W, Eigen::Dynamic, Eigen::Dynamic>;

template <typename W> struct Eigensystem {
  Columns<W> values, vectors;
};

// False where there is no result.
template <typename W, bool isSelfAdjoint>
[[gnu::noinline]] bool solve(const Columns<W> &matrix, bool hasVectors, Eigensystem<W> &result) {
  using Solver = std::conditional_t<isSelfAdjoint, Eigen::SelfAdjointEigenSolver<Columns<W>>,
                                    Eigen::ComplexEigenSolver<Columns<W>>>;
  Solver solver(matrix.rows());
  if constexpr (isSelfAdjoint)
    solver.compute(matrix, hasVectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  else
    solver.compute(matrix, hasVectors);
  if (solver.info() != Eigen::Success)
    return false;
  result.values = solver.eigenvalues().template cast<W>();
  if (hasVectors)
    result.vectors = solver.eigenvectors();
  return true;
}

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
      if (!solve<Wide<T>, true>(widened<T>(m, in, i), hasVectors, result))
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
      if (!solve<Wide<T>, true>(widened<T>(m, in, i), true, result))
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
      if (!solve<Complex128, false>(m.at<T>(in, i).template cast<Complex128>(), hasVectors, result))
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
