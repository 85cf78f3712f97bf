// Matrix factorizations and linear systems, in LAPACK's packed formats.
#include "treadle/kernels/linear_algebra/LapackCalls.h"
#include "treadle/kernels/linear_algebra/LapackLibrary.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

#include <limits>

namespace treadle::lapack {
namespace {

/// Cholesky: writes the factor to its triangle; the other triangle is left unchanged.
template <typename W> void potrf(LapackCall<W> &call) {
  bool isLower = letter(call.options, "uplo", 'L') == 'L';
  if (isFasterCholesky(call.in[0].rows()))
    return inOwnType(call, call.in[0], [&]<typename T>(Columns<T> a) {
      call.info = cholesky(a.data(), a.rows(), isLower);
      call.give(a);
    });
  Columns<W> a = std::move(call.in[0]);
  Eigen::Index failed = isLower ? Eigen::internal::llt_inplace<W, Eigen::Lower>::blocked(a)
                                : Eigen::internal::llt_inplace<W, Eigen::Upper>::blocked(a);
  call.info = static_cast<int>(failed + 1); // -1: none failed
  call.give(std::move(a));
}

template <typename W> int luByEigen(Columns<W> &a, int *swaps) {
  // Eigen leaves the columns to the right of the square unchanged.
  Eigen::Index least = std::min(a.rows(), a.cols());
  int swapped = 0;
  Eigen::Index zero = Eigen::internal::partial_lu_impl<W, Eigen::ColMajor, int>::blocked_lu(
      a.rows(), least, a.data(), a.rows(), swaps, swapped);
  if (auto right = a.rightCols(a.cols() - least); right.cols() > 0) {
    for (Eigen::Index k = 0; k < least; ++k)
      right.row(k).swap(right.row(swaps[k]));
    a.leftCols(least).template triangularView<Eigen::UnitLower>().solveInPlace(right);
  }
  for (Eigen::Index k = 0; k < least; ++k)
    ++swaps[k];                      // LAPACK counts from 1
  return static_cast<int>(zero + 1); // -1: there is none
}

/// LU: both factors in one matrix, and for each row the row (counted from 1) that it was swapped
/// with.
template <typename W> void getrf(LapackCall<W> &call) {
  Eigen::Index least = std::min(call.in[0].rows(), call.in[0].cols());
  Eigen::VectorXi swaps(least);
  if (isFasterLu(call.in[0].rows(), call.in[0].cols())) {
    inOwnType(call, call.in[0], [&]<typename T>(Columns<T> a) {
      call.info = lu(a.data(), a.rows(), a.cols(), swaps.data());
      call.give(a);
    });
  } else {
    Columns<W> a = std::move(call.in[0]);
    if (least > 0)
      call.info = luByEigen(a, swaps.data());
    call.give(std::move(a));
  }
  call.give(swaps);
}

/// QR: R in the upper triangle, the Householder reflectors below, and their coefficients.
template <typename W> void geqrf(LapackCall<W> &call) {
  const Columns<W> &a = call.in[0];
  if (a.size() == 0) {
    call.give(a);
    call.give(Columns<W>::Zero(std::min(a.rows(), a.cols()), 1));
    return;
  }
  Eigen::HouseholderQR<Columns<W>> qr(a);
  call.give(qr.matrixQR());
  call.give(qr.hCoeffs().conjugate());
}

/// QR with column pivoting: the columns are ordered so that those of R decrease. The order, counted
/// from 1, is the second result. Unlike LAPACK, ignores the second operand, which names columns to
/// keep in front.
template <typename W> void geqp3(LapackCall<W> &call) {
  const Columns<W> &a = call.in[0];
  Eigen::Index least = std::min(a.rows(), a.cols());
  Eigen::VectorXi order = Eigen::VectorXi::LinSpaced(a.cols(), 1, static_cast<int>(a.cols()));
  Columns<W> packed = a, sizes = Columns<W>::Zero(least, 1);
  if (least) {
    Eigen::ColPivHouseholderQR<Columns<W>> qr(a);
    order = qr.colsPermutation().indices().template cast<int>().array() + 1;
    packed = qr.matrixQR();
    sizes = qr.hCoeffs().conjugate();
  }
  call.give(packed);
  call.give(order);
  call.give(sizes);
}

/// The first columns of the product of reflectors.
template <typename W> void orgqr(LapackCall<W> &call) {
  const Columns<W> &packed = call.in[0];
  using Vector = Eigen::Matrix<W, Eigen::Dynamic, 1>;
  Vector sizes = call.in[1].topRows(std::min({call.in[1].rows(), packed.rows(), packed.cols()}));
  Columns<W> q = Columns<W>::Identity(packed.rows(), packed.cols());
  if (sizes.rows())
    q.applyOnTheLeft(Eigen::householderSequence(packed, sizes).setLength(sizes.rows()));
  call.give(q);
}

/// Multiplies a matrix by a product of reflectors, or by its adjoint, from either side.
template <typename W> void ormqr(LapackCall<W> &call) {
  const Columns<W> &packed = call.in[0];
  Columns<W> c = std::move(call.in[2]);
  using Vector = Eigen::Matrix<W, Eigen::Dynamic, 1>;
  Vector sizes = call.in[1].topRows(std::min({call.in[1].rows(), packed.rows(), packed.cols()}));
  bool isLeft = letter(call.options, "left", 1), isAdjoint = letter(call.options, "transpose", 0);
  if (sizes.rows() && c.size()) {
    auto q = Eigen::householderSequence(packed, sizes).setLength(sizes.rows());
    if (isLeft)
      isAdjoint ? c.applyOnTheLeft(q.adjoint()) : c.applyOnTheLeft(q);
    else
      isAdjoint ? c.applyOnTheRight(q.adjoint()) : c.applyOnTheRight(q);
  }
  call.give(std::move(c));
}

/// Reduces a self-adjoint matrix to a similar tridiagonal one: returns the matrix with the
/// reflectors, the diagonals, and the reflectors' coefficients. The upper triangle is reduced like
/// the lower one with rows and columns counted from the end.
template <typename W> void sytrd(LapackCall<W> &call) {
  bool isLower = letter(call.options, "uplo", 'L') == 'L';
  Columns<W> a = isLower ? call.in[0] : Columns<W>(call.in[0].reverse());
  a.diagonal() = a.diagonal().real().template cast<W>().eval();
  Eigen::Index less = std::max<Eigen::Index>(a.rows() - 1, 0);
  Columns<W> sizes = Columns<W>::Zero(less, 1);
  if (less) {
    Eigen::Matrix<W, Eigen::Dynamic, 1> made(less);
    Eigen::internal::tridiagonalization_inplace(a, made);
    sizes = made.conjugate();
  }
  Columns<W> middle = a.diagonal(), beside(less, 1);
  if (less)
    beside = a.diagonal(-1);
  auto inOrder = [&](const Columns<W> &value) {
    return isLower ? value : Columns<W>(value.reverse());
  };
  for (const Columns<W> &value : {a, middle, beside, sizes})
    call.give(inOrder(value));
}

/// Reduces a matrix to Hessenberg form, with the reflectors below.
template <typename W> void gehrd(LapackCall<W> &call) {
  const Columns<W> &a = call.in[0];
  if (a.rows() < 2) {
    call.give(a);
    call.give(Columns<W>(0, 1));
    return;
  }
  Eigen::HessenbergDecomposition<Columns<W>> decomposition(a);
  call.give(decomposition.packedMatrix());
  call.give(decomposition.householderCoefficients().conjugate());
}

/// Solves op(A) X = B or X op(A) = B.
template <typename W> void trsm(LapackCall<W> &call) {
  bool isLower = letter(call.options, "uplo", 'L') == 'L';
  Columns<W> a = Columns<W>::Zero(call.in[0].rows(), call.in[0].cols());
  if (isLower)
    a.template triangularView<Eigen::Lower>() = call.in[0];
  else
    a.template triangularView<Eigen::Upper>() = call.in[0];
  if (letter(call.options, "diag", 'N') == 'U')
    a.diagonal().setOnes();
  char form = letter(call.options, "trans_x", 'N');
  bool isRight = letter(call.options, "side", 'L') == 'R';
  if (form == 'C')
    a = a.conjugate().eval();
  if ((form != 'N') != isRight) {
    a.transposeInPlace();
    isLower = !isLower;
  }
  Columns<W> b = isRight ? Columns<W>(call.in[1].transpose()) : call.in[1];
  Columns<W> x = isLower ? Columns<W>(a.template triangularView<Eigen::Lower>().solve(b))
                         : Columns<W>(a.template triangularView<Eigen::Upper>().solve(b));
  call.give(isRight ? Columns<W>(x.transpose()) : x);
}

/// A tridiagonal system. The first element of the lower diagonal and the last of the upper one
/// don't exist.
template <typename W> struct TridiagonalSystem {
  const Columns<W> &lower;
  Columns<W> middle, upper, x;
  Columns<W> second = Columns<W>::Zero(middle.rows(), 1); // second superdiagonal, filled by swaps

  explicit TridiagonalSystem(const std::vector<Columns<W>> &in)
      : lower(in[0]), middle(in[1]), upper(in[2]), x(in[3]) {}

  /// Eliminates the lower diagonal, with swaps of adjacent rows.
  void eliminate() {
    Eigen::Index n = middle.rows();
    for (Eigen::Index i = 0; i + 1 < n; ++i) {
      W below = lower(i + 1), next = middle(i + 1), beyond = i + 2 < n ? upper(i + 1) : W(0);
      if (below == W(0))
        continue;
      if (std::abs(below) > std::abs(middle(i))) {
        W factor = middle(i) / below;
        middle(i + 1) = upper(i) - factor * next;
        upper(i + 1) = -factor * beyond;
        middle(i) = below;
        upper(i) = next;
        second(i) = beyond;
        x.row(i).swap(x.row(i + 1));
        x.row(i + 1) -= factor * x.row(i);
      } else {
        W factor = below / middle(i);
        middle(i + 1) -= factor * upper(i);
        x.row(i + 1) -= factor * x.row(i);
      }
    }
  }

  void substitute() {
    Eigen::Index n = middle.rows();
    for (Eigen::Index i = n - 1; i >= 0; --i) {
      if (i + 1 < n)
        x.row(i) -= upper(i) * x.row(i + 1);
      if (i + 2 < n)
        x.row(i) -= second(i) * x.row(i + 2);
      x.row(i) /= middle(i);
    }
  }

  /// Returns the row, counted from 1, in which the diagonal is zero; 0 if there is none.
  int zeroRow() const {
    for (Eigen::Index i = 0; i < middle.rows(); ++i)
      if (middle(i) == W(0))
        return static_cast<int>(i + 1);
    return 0;
  }

  /// Returns the largest absolute value after elimination.
  double largest() const {
    Eigen::Index n = middle.rows();
    double most = middle.cwiseAbs().maxCoeff();
    if (n > 1)
      most = std::max({most, upper.topRows(n - 1).cwiseAbs().maxCoeff(),
                       second.topRows(n - 1).cwiseAbs().maxCoeff()});
    return most;
  }
};

template <typename W> void gtsv(LapackCall<W> &call) {
  TridiagonalSystem<W> system(call.in);
  system.eliminate();
  call.info = system.zeroRow();
  system.substitute();
  call.give(system.lower);
  call.give(system.middle);
  call.give(system.upper);
  call.give(system.x);
}

template <typename T> double smallestPivot(double largest) {
  using Limits = std::numeric_limits<T>;
  return std::max(double(Limits::epsilon()) * largest, double(Limits::min()));
}

/// Solves a perturbed system: zeros on the diagonal after elimination are replaced by the smallest
/// number that is distinguishable from zero relative to the others, so that a singular system has a
/// large solution, as inverse iteration needs it.
template <typename W> void tridiagonalSolvePerturbed(LapackCall<W> &call) {
  TridiagonalSystem<W> system(call.in);
  system.eliminate();
  if (system.middle.size()) {
    double zero =
        call.isSingle ? std::numeric_limits<float>::min() : std::numeric_limits<double>::min();
    double least = call.isSingle ? smallestPivot<float>(system.largest())
                                 : smallestPivot<double>(system.largest());
    for (W &pivot : system.middle.reshaped())
      if (std::abs(pivot) < zero)
        pivot = std::real(pivot) < 0 ? -least : least;
  }
  system.substitute();
  call.give(system.x);
}

const Routine routines[] = {
    {"potrf", "m", "mi", "mi", potrf<double>, potrf<Complex128>, "nn"},
    {"getrf", "m", "mvi", "mvi", getrf<double>, getrf<Complex128>, "mn"},
    {"geqrf", "m", "mv", "mv", geqrf<double>, geqrf<Complex128>, "mn"},
    {"geqp3", "mp", "mvv", "mvv", geqp3<double>, geqp3<Complex128>, "mnn"},
    {"orgqr", "mv", "m", "m", orgqr<double>, nullptr, "mnk"},
    {"ungqr", "mv", "m", "m", nullptr, orgqr<Complex128>, "mnk"},
    {"ormqr", "mvm", "m", "m", ormqr<double>, nullptr, "mnkmd", "mnkcm"},
    {"unmqr", "mvm", "m", "m", nullptr, ormqr<Complex128>, "mnkmd", "mnkcm"},
    {"sytrd", "m", "mvvvi", "mvvvi", sytrd<double>, nullptr, "nn"},
    {"hetrd", "m", "mvvvi", "mvvvi", nullptr, sytrd<Complex128>, "nn"},
    {"gehrd", "m", "mvi", "mvi", gehrd<double>, gehrd<Complex128>, "nn"},
    {"trsm", "mm", "m", "m", trsm<double>, trsm<Complex128>, "nnnd", "nncn"},
    {"gtsv", "vvvm", "vvvmi", "vvvmi", gtsv<double>, gtsv<Complex128>, "nnnnk"},
    {"tridiagonal_solve_perturbed", "vvvm", "m", "m", tridiagonalSolvePerturbed<double>,
     tridiagonalSolvePerturbed<Complex128>, "nnnnk"},
};

} // namespace

std::span<const Routine> factorRoutines() { return routines; }

} // namespace treadle::lapack
