// Eigenvalues and eigenvectors of self-adjoint and of general matrices.
#include "treadle/kernels/linear_algebra/LapackLibrary.h"
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

template <typename W>
bool selfAdjointByEigen(const Columns<W> &matrix, bool hasVectors, Eigensystem<W> &result) {
  Eigen::SelfAdjointEigenSolver<Columns<W>> solver(matrix, hasVectors ? Eigen::ComputeEigenvectors
                                                                      : Eigen::EigenvaluesOnly);
  return give(solver, hasVectors, result);
}

bool generalByEigen(const Columns<Complex128> &matrix, bool hasVectors,
                    Eigensystem<Complex128> &result) {
  Eigen::ComplexEigenSolver<Columns<Complex128>> solver(matrix, hasVectors);
  return give(solver, hasVectors, result);
}

/// Whether LAPACK should compute the result. Matrices with non-finite elements go to Eigen, which
/// reports a failure for them.
template <typename T>
bool usesLapack(lapack::Spectrum kind, const Columns<T> &matrix, bool hasVectors,
                SignConvention signs) {
  return lapack::isFaster(kind, matrix.rows(), matrix.cols(),
                          hasVectors && signs == SignConvention::AsEigen) &&
         matrix.allFinite();
}

template <typename T, typename W>
void narrow(const Eigensystem<W> &found, bool hasVectors, Eigensystem<T> &result) {
  result.values = found.values.template cast<T>();
  if (hasVectors)
    result.vectors = found.vectors.template cast<T>();
}

} // namespace

template <typename T>
bool solveSelfAdjoint(const Columns<T> &matrix, bool hasVectors, SignConvention signs,
                      Eigensystem<T> &result) {
  if (usesLapack(lapack::Spectrum::SelfAdjoint, matrix, hasVectors, signs)) {
    Columns<RealOf<T>> values;
    result.vectors = matrix;
    if (!lapack::selfAdjoint(result.vectors, hasVectors, values))
      return false;
    result.values = values.template cast<T>();
    return true;
  }
  Eigensystem<Wide<T>> found;
  if (!selfAdjointByEigen<Wide<T>>(matrix.template cast<Wide<T>>(), hasVectors, found))
    return false;
  narrow(found, hasVectors, result);
  return true;
}

template <typename T>
bool solveGeneral(const Columns<T> &matrix, bool hasVectors, SignConvention signs,
                  Eigensystem<ComplexOf<T>> &result) {
  if (usesLapack(lapack::Spectrum::General, matrix, hasVectors, signs)) {
    Columns<T> copy = matrix;
    Columns<ComplexOf<T>> none;
    return lapack::general(copy, false, hasVectors, result.values, none, result.vectors);
  }
  Eigensystem<Complex128> found;
  if (!generalByEigen(matrix.template cast<Complex128>(), hasVectors, found))
    return false;
  narrow(found, hasVectors, result);
  return true;
}

#define TREADLE_FOR(T)                                                                             \
  template bool solveSelfAdjoint(const Columns<T> &, bool, SignConvention, Eigensystem<T> &);      \
  template bool solveGeneral(const Columns<T> &, bool, SignConvention, Eigensystem<ComplexOf<T>> &);
TREADLE_FOR(float)
TREADLE_FOR(double)
TREADLE_FOR(Complex64)
TREADLE_FOR(Complex128)
#undef TREADLE_FOR

namespace {

Error notFound(int64_t i) {
  return invalidArgument("the eigenvalue algorithm did not converge for matrix ", i,
                         "; are all its elements finite?");
}

struct EigenState {
  bool hasVectors, isLower; // isLower: which triangle of a self-adjoint matrix is read
};

template <typename T> struct SelfAdjointEigKernel {
  static void run(OpContext &ctx) {
    auto [hasVectors, isLower] = ctx.state<EigenState>();
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *values = ctx.allocateOutput(0, in.dtype(), m.dimsWith({m.rows}));
    Tensor *vectors = hasVectors ? ctx.allocateOutput(1, in.dtype(), in.dims())
                                 : ctx.allocateOutput(1, in.dtype(), {0});
    if (!values || !vectors || !m.rows)
      return;
    int64_t failed = firstFailure(ctx, m, 10, [&](int64_t i) {
      Eigensystem<T> result;
      Columns<T> matrix = m.at<T>(in, i);
      if (!isLower)
        matrix.adjointInPlace();
      if (!solveSelfAdjoint<T>(matrix, hasVectors, SignConvention::AsEigen, result))
        return false;
      matrixAt<T>(*values, i, m.rows, 1) = result.values;
      if (hasVectors)
        matrixAt<T>(*vectors, i, m.rows, m.rows) = result.vectors;
      return true;
    });
    if (failed >= 0)
      ctx.fail(notFound(failed));
  }
};

// The first version returns values and vectors in one output, with the values in its first row.
template <typename T> struct JoinedEigKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), m.dimsWith({m.rows + 1, m.rows}));
    if (!out || !m.rows)
      return;
    int64_t failed = firstFailure(ctx, m, 10, [&](int64_t i) {
      Eigensystem<T> result;
      if (!solveSelfAdjoint<T>(m.at<T>(in, i), true, SignConvention::AsEigen, result))
        return false;
      T *joined = out->data<T>() + i * (m.rows + 1) * m.rows;
      MatrixMap<T>(joined, m.rows, 1) = result.values;
      MatrixMap<T>(joined + m.rows, m.rows, m.rows) = result.vectors;
      return true;
    });
    if (failed >= 0)
      ctx.fail(notFound(failed));
  }
};

// Values and vectors of a general matrix are complex, whatever the input is.
template <typename T> struct EigKernel {
  using Out = std::complex<typename Eigen::NumTraits<T>::Real>;

  static void run(OpContext &ctx) {
    bool hasVectors = ctx.state<EigenState>().hasVectors;
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.readSquare(ctx, in))
      return;
    Tensor *values = ctx.allocateOutput(0, dtypeOf<Out>, m.dimsWith({m.rows}));
    Tensor *vectors = hasVectors ? ctx.allocateOutput(1, dtypeOf<Out>, in.dims())
                                 : ctx.allocateOutput(1, dtypeOf<Out>, {0});
    if (!values || !vectors || !m.rows)
      return;
    // For non-finite matrices the algorithm fails, after the maximum number of iterations.
    constexpr int64_t manyRows = 32;
    int64_t failed = firstFailure(ctx, m, 25, [&](int64_t i) {
      Eigensystem<Out> result;
      if (m.rows > manyRows && !m.at<T>(in, i).allFinite())
        return false;
      if (!solveGeneral<T>(m.at<T>(in, i), hasVectors, SignConvention::AsEigen, result))
        return false;
      matrixAt<Out>(*values, i, m.rows, 1) = result.values;
      if (hasVectors)
        matrixAt<Out>(*vectors, i, m.rows, m.rows) = result.vectors;
      return true;
    });
    if (failed >= 0)
      ctx.fail(notFound(failed));
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindEigenvalues(const BindContext &node) {
  return bindByType<Kernel, MatrixTypes>(node).map([&](BoundKernel bound) {
    return boundWith(bound.fn, EigenState{node.attrs.getOr<bool>("compute_v", true),
                                          node.attrs.getOr<bool>("lower", true)});
  });
}

const KernelEntry eigenvalueTable[] = {
    {"SelfAdjointEig", bindEigenvalues<JoinedEigKernel>},
    {"SelfAdjointEigV2", bindEigenvalues<SelfAdjointEigKernel>},
    {"Eig", bindEigenvalues<EigKernel>},
    {"BatchSelfAdjointEig", bindEigenvalues<JoinedEigKernel>},
    {"BatchSelfAdjointEigV2", bindEigenvalues<SelfAdjointEigKernel>},
    {"XlaSelfAdjointEig", bindEigenvalues<SelfAdjointEigKernel>},
};

} // namespace

std::span<const KernelEntry> eigenvalueKernels() { return eigenvalueTable; }

} // namespace treadle
