// Matrix decompositions: Qr and Svd.
#include "treadle/kernels/linear_algebra/LapackLibrary.h"
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"
#include "treadle/kernels/linear_algebra/Spectra.h"

#include <Eigen/QR>
#include <Eigen/SVD>

namespace treadle {

namespace {

template <typename W>
SingularSystem<W> singularByEigen(const Columns<W> &matrix, SingularVectors vectors) {
  constexpr unsigned options[] = {0, Eigen::ComputeThinU | Eigen::ComputeThinV,
                                  Eigen::ComputeFullU | Eigen::ComputeFullV};
  Eigen::BDCSVD<Columns<W>> svd(matrix, options[static_cast<size_t>(vectors)]);
  SingularSystem<W> result{svd.singularValues().template cast<W>(), {}, {}};
  if (vectors != SingularVectors::None) {
    result.left = svd.matrixU();
    result.right = svd.matrixV();
  }
  return result;
}

template <typename T>
bool singularByLapack(const Columns<T> &matrix, SingularVectors vectors,
                      SingularSystem<T> &result) {
  Columns<T> copy = matrix, rightAdjoint;
  Columns<RealOf<T>> values;
  if (!lapack::singular(copy, vectors, values, result.left, rightAdjoint))
    return false;
  result.values = values.template cast<T>();
  result.right = rightAdjoint.adjoint();
  return true;
}

} // namespace

template <typename T>
SingularSystem<T> solveSingular(const Columns<T> &matrix, SingularVectors vectors,
                                SignConvention signs) {
  SingularSystem<T> result;
  bool hasSigns = vectors != SingularVectors::None && signs == SignConvention::AsEigen;
  if (lapack::isFaster(lapack::Spectrum::Singular, matrix.rows(), matrix.cols(), hasSigns) &&
      singularByLapack(matrix, vectors, result))
    return result;
  auto found = singularByEigen<Wide<T>>(matrix.template cast<Wide<T>>(), vectors);
  result.values = found.values.template cast<T>();
  result.left = found.left.template cast<T>();
  result.right = found.right.template cast<T>();
  return result;
}
template SingularSystem<float> solveSingular(const Columns<float> &, SingularVectors,
                                             SignConvention);
template SingularSystem<double> solveSingular(const Columns<double> &, SingularVectors,
                                              SignConvention);
template SingularSystem<Complex64> solveSingular(const Columns<Complex64> &, SingularVectors,
                                                 SignConvention);
template SingularSystem<Complex128> solveSingular(const Columns<Complex128> &, SingularVectors,
                                                  SignConvention);

namespace {

struct DecompositionState {
  bool isFull;     // square orthogonal factors
  bool hasVectors; // not only values
};

template <typename T> struct QrKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.read(ctx, in))
      return;
    int64_t least = std::min(m.rows, m.columns);
    int64_t inner = ctx.state<DecompositionState>().isFull ? m.rows : least;
    Tensor *q = ctx.allocateOutput(0, in.dtype(), m.dimsWith({m.rows, inner}));
    Tensor *r = ctx.allocateOutput(1, in.dtype(), m.dimsWith({inner, m.columns}));
    if (!q || !r)
      return;
    forEachMatrix(ctx, m, 3, [&](int64_t i) {
      auto qAt = matrixAt<T>(*q, i, m.rows, inner);
      qAt.setIdentity();
      if (least == 0)
        return;
      Eigen::HouseholderQR<WideMatrix<T>> qr(widened<T>(m, in, i));
      WideMatrix<T> factor = qr.householderQ() * WideMatrix<T>::Identity(m.rows, inner);
      qAt = factor.template cast<T>();
      factor = qr.matrixQR().topRows(inner).template triangularView<Eigen::Upper>();
      matrixAt<T>(*r, i, inner, m.columns) = factor.template cast<T>();
    });
  }
};

template <typename T> struct SvdKernel {
  using Real = typename Eigen::NumTraits<T>::Real;

  static void run(OpContext &ctx) {
    const DecompositionState &s = ctx.state<DecompositionState>();
    const Tensor in = ctx.input(0);
    Matrices m;
    if (!m.read(ctx, in))
      return;
    int64_t least = std::min(m.rows, m.columns);
    int64_t uColumns = !s.hasVectors ? 0 : s.isFull ? m.rows : least;
    int64_t vColumns = !s.hasVectors ? 0 : s.isFull ? m.columns : least;
    Tensor *values = ctx.allocateOutput(0, in.dtype(), m.dimsWith({least}));
    Tensor *u = s.hasVectors ? ctx.allocateOutput(1, in.dtype(), m.dimsWith({m.rows, uColumns}))
                             : ctx.allocateOutput(1, in.dtype(), {0});
    Tensor *v = s.hasVectors ? ctx.allocateOutput(2, in.dtype(), m.dimsWith({m.columns, vColumns}))
                             : ctx.allocateOutput(2, in.dtype(), {0});
    if (!values || !u || !v)
      return;
    SingularVectors vectors = !s.hasVectors ? SingularVectors::None
                              : s.isFull    ? SingularVectors::Full
                                            : SingularVectors::Thin;
    forEachMatrix(ctx, m, 20, [&](int64_t i) {
      if (least == 0) {
        matrixAt<T>(*u, i, m.rows, uColumns).setIdentity();
        matrixAt<T>(*v, i, m.columns, vColumns).setIdentity();
        return;
      }
      Columns<T> matrix = m.at<T>(in, i);
      if (!matrix.allFinite()) { // the algorithm may not terminate
        fillWithNan(*values, i, least, 1);
        fillWithNan(*u, i, m.rows, uColumns);
        fillWithNan(*v, i, m.columns, vColumns);
        return;
      }
      SingularSystem<T> svd = solveSingular(matrix, vectors, SignConvention::AsEigen);
      matrixAt<T>(*values, i, least, 1) = svd.values;
      if (!s.hasVectors)
        return;
      matrixAt<T>(*u, i, m.rows, uColumns) = svd.left;
      matrixAt<T>(*v, i, m.columns, vColumns) = svd.right;
    });
  }

  static void fillWithNan(Tensor &t, int64_t i, int64_t rows, int64_t columns) {
    matrixAt<T>(t, i, rows, columns).setConstant(T(std::numeric_limits<Real>::quiet_NaN()));
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindDecomposition(const BindContext &node) {
  bool hasVectors =
      node.attrs.getOr<bool>(node.op.ends_with("Svd") ? "compute_uv" : "compute_v", true);
  return withState(
      bindByType<Kernel, MatrixTypes>(node),
      DecompositionState{node.attrs.getOr<bool>("full_matrices", node.op == "XlaSvd"), hasVectors});
}

const KernelEntry decompositionTable[] = {
    {"Qr", bindDecomposition<QrKernel>},
    {"Svd", bindDecomposition<SvdKernel>},
    {"BatchSvd", bindDecomposition<SvdKernel>},
    {"XlaSvd", bindDecomposition<SvdKernel>},
};

} // namespace

std::span<const KernelEntry> decompositionKernels() { return decompositionTable; }

} // namespace treadle
