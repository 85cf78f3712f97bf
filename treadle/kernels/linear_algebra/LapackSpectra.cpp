// Eigenvalues, singular values and Schur forms, as LAPACK returns them.
#include "treadle/kernels/linear_algebra/LapackCalls.h"
#include "treadle/kernels/linear_algebra/LapackLibrary.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

namespace treadle::lapack {
namespace {

constexpr bool isComplex(double) { return false; }
constexpr bool isComplex(Complex128) { return true; }

/// Returns results of the expected sizes for a failed computation, with `info` set.
template <typename W>
void giveFailure(LapackCall<W> &call, std::initializer_list<Eigen::Index> sizes) {
  call.info = 1;
  for (auto it = sizes.begin(); it != sizes.end(); it += 2)
    call.give(Columns<W>::Constant(it[0], it[1], W(std::numeric_limits<double>::quiet_NaN())));
}

/// Computes the vectors and values of a self-adjoint matrix, of which one triangle is read.
template <typename W> void syevd(LapackCall<W> &call) {
  const Columns<W> &a = call.in[0];
  Eigen::Index n = a.rows();
  if (n == 0 || !a.allFinite())
    return giveFailure(call, {n, n, n, 1});
  Columns<W> lower = letter(call.options, "uplo", 'L') == 'L' ? a : Columns<W>(a.adjoint());
  bool isFound = inOwnType(call, lower, [&]<typename T>(const Columns<T> &matrix) {
    Eigensystem<T> found;
    if (!solveSelfAdjoint(matrix, true, SignConvention::Any, found))
      return false;
    call.give(found.vectors);
    call.give(found.values);
    return true;
  });
  if (!isFound)
    giveFailure(call, {n, n, n, 1});
}

/// Returns the original matrix, the singular values, and the left and right vectors as `mode`
/// requests: all, as many as there are values, or none.
template <typename W> void gesdd(LapackCall<W> &call) {
  const Columns<W> &a = call.in[0];
  Eigen::Index rows = a.rows(), columns = a.cols(), least = std::min(rows, columns);
  char mode = letter(call.options, "mode", 'A');
  Eigen::Index left = mode == 'A' ? rows : least, right = mode == 'A' ? columns : least;
  call.give(a);
  if (least == 0 || !a.allFinite())
    return giveFailure(call, {least, 1, rows, left, right, columns});
  SingularVectors vectors = mode == 'A'   ? SingularVectors::Full
                            : mode == 'S' ? SingularVectors::Thin
                                          : SingularVectors::None;
  inOwnType(call, a, [&]<typename T>(const Columns<T> &matrix) {
    SingularSystem<T> svd = solveSingular(matrix, vectors, SignConvention::Any);
    call.give(svd.values);
    if (vectors == SingularVectors::None)
      return;
    call.give(svd.left);
    call.give(svd.right.adjoint());
  });
  if (vectors == SingularVectors::None) {
    call.give(Columns<W>::Zero(rows, left));
    call.give(Columns<W>::Zero(right, columns));
  }
}

/// Normalizes the phase of each complex vector like LAPACK: its largest element becomes real. For a
/// real matrix it keeps the sign of its real part, otherwise it becomes positive.
void normalizePhases(Result &vectors, bool isOfReal) {
  for (Eigen::Index k = 0; k < vectors.cols(); ++k) {
    Eigen::Index largest = 0;
    double size = std::sqrt(vectors.col(k).cwiseAbs2().maxCoeff(&largest));
    Complex128 at = vectors(largest, k);
    if (size == 0 || (isOfReal && vectors.col(k).imag().isZero(0)))
      continue;
    vectors.col(k) *= std::conj(at) / size * (isOfReal && std::signbit(at.real()) ? -1.0 : 1.0);
    vectors(largest, k).imag(0);
  }
}

/// Returns the left vectors, which are the eigenvectors of the adjoint matrix: the inverse of the
/// right vectors, each normalized.
Result leftVectors(const Result &right) {
  Result left = right.inverse().adjoint();
  left.colwise().normalize();
  return left;
}

void giveEigenvalues(LapackCall<double> &call, const Result &values) {
  call.give(values.real());
  call.give(values.imag());
}
void giveEigenvalues(LapackCall<Complex128> &call, const Result &values) { call.give(values); }

bool solve(const Columns<double> &matrix, bool hasVectors, Eigensystem<Complex128> &result) {
  Eigen::EigenSolver<Columns<double>> solver(matrix, hasVectors);
  if (solver.info() != Eigen::Success)
    return false;
  result.values = solver.eigenvalues();
  if (hasVectors)
    result.vectors = solver.eigenvectors();
  return true;
}
bool solve(const Result &matrix, bool hasVectors, Eigensystem<Complex128> &result) {
  return solveGeneral(matrix, hasVectors, SignConvention::Any, result);
}

/// The values, and the left and right vectors on request.
template <typename T> struct TwoSidedEigensystem {
  Columns<ComplexOf<T>> values, left, right;
};

template <typename T>
bool solveByLapack(const Columns<T> &a, bool hasLeft, bool hasRight,
                   TwoSidedEigensystem<T> &found) {
  Columns<T> copy = a;
  return general(copy, hasLeft, hasRight, found.values, found.left, found.right);
}

template <typename W>
bool solveByEigen(const Columns<W> &a, bool hasLeft, bool hasRight, TwoSidedEigensystem<W> &found) {
  Eigensystem<Complex128> system;
  if (!solve(a, hasLeft || hasRight, system))
    return false;
  found.values = system.values;
  if (hasLeft)
    found.left = leftVectors(system.vectors);
  found.right = system.vectors;
  for (Result *vectors : {&found.left, &found.right})
    normalizePhases(*vectors, !isComplex(W()));
  return true;
}

/// Computes in the matrix's own type if the library is faster; otherwise in double precision, which
/// costs little more.
template <typename T>
bool solveBothSides(const Columns<T> &a, bool hasLeft, bool hasRight,
                    TwoSidedEigensystem<T> &found) {
  if (isFaster(Spectrum::General, a.rows(), a.cols(), false))
    return solveByLapack(a, hasLeft, hasRight, found);
  using W = Wide<T>;
  TwoSidedEigensystem<W> wide;
  auto *solver = isInstalledFor(a.rows()) ? solveByLapack<W> : solveByEigen<W>;
  if (!solver(a.template cast<W>(), hasLeft, hasRight, wide))
    return false;
  found.values = wide.values.template cast<ComplexOf<T>>();
  found.left = wide.left.template cast<ComplexOf<T>>();
  found.right = wide.right.template cast<ComplexOf<T>>();
  return true;
}

template <typename W> void geev(LapackCall<W> &call) {
  const Columns<W> &a = call.in[0];
  Eigen::Index n = a.rows();
  bool hasLeft = letter(call.options, "compute_left", 'N') == 'V',
       hasRight = letter(call.options, "compute_right", 'N') == 'V';
  auto give = [&]<typename T>(const Columns<T> &matrix) {
    TwoSidedEigensystem<T> found;
    if (!solveBothSides(matrix, hasLeft, hasRight, found))
      return false;
    giveEigenvalues(call, found.values.template cast<Complex128>());
    call.give(hasLeft ? Result(found.left.template cast<Complex128>()) : Result::Zero(n, n));
    call.give(hasRight ? Result(found.right.template cast<Complex128>()) : Result::Zero(n, n));
    return true;
  };
  if (n > 0 && a.allFinite() && inOwnType(call, a, give))
    return;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  call.info = 1;
  giveEigenvalues(call, Result::Constant(n, 1, nan));
  call.give(Result::Constant(n, n, nan));
  call.give(Result::Constant(n, n, nan));
}

void giveSchurValues(LapackCall<double> &call, const Columns<double> &form) {
  Eigen::Index n = form.rows();
  Eigen::VectorXd real = form.diagonal(), imaginary = Eigen::VectorXd::Zero(n);
  for (Eigen::Index i = 0; i + 1 < n; ++i)
    if (form(i + 1, i) != 0) { // a conjugate pair
      double size = std::sqrt(std::abs(form(i, i + 1))) * std::sqrt(std::abs(form(i + 1, i)));
      imaginary[i] = size;
      imaginary[i + 1] = -size;
    }
  call.give(real);
  call.give(imaginary);
}
void giveSchurValues(LapackCall<Complex128> &call, const Result &form) {
  call.give(form.diagonal());
}

/// Replaces a matrix by its Schur form and computes the vectors; false if that fails. A matrix has
/// many Schur forms; LAPACK's is returned if the library is installed.
template <typename W> bool schurForm(Columns<W> &matrix, Columns<W> &vectors, bool isSingle) {
  if (isInstalledFor(matrix.rows())) {
    using Narrow = std::conditional_t<isComplex(W()), Complex64, float>;
    if (!isSingle)
      return schur(matrix, vectors);
    Columns<Narrow> narrow = matrix.template cast<Narrow>(), ofNarrow;
    if (!schur(narrow, ofNarrow))
      return false;
    matrix = narrow.template cast<W>();
    vectors = ofNarrow.template cast<W>();
    return true;
  }
  using Solver = std::conditional_t<isComplex(W()), Eigen::ComplexSchur<Columns<W>>,
                                    Eigen::RealSchur<Columns<W>>>;
  Solver solver(matrix);
  if (solver.info() != Eigen::Success)
    return false;
  matrix = solver.matrixT();
  vectors = solver.matrixU();
  return true;
}

/// Returns the form, the vectors, the eigenvalues, and the number of selected eigenvalues (0: no
/// selection).
template <typename W> void gees(LapackCall<W> &call) {
  Columns<W> form = call.in[0], vectors;
  Eigen::Index n = form.rows();
  if (n == 0 || !form.allFinite() || !schurForm(form, vectors, call.isSingle)) {
    call.info = 1;
    form = vectors = Columns<W>::Constant(n, n, W(std::numeric_limits<double>::quiet_NaN()));
  }
  call.give(form);
  call.give(vectors);
  giveSchurValues(call, form);
  call.give(Columns<W>::Zero(1, 1));
}

const Routine routines[] = {
    {"syevd", "m", "mvi", {}, syevd<double>, nullptr, "nn"},
    {"heevd", "m", {}, "mvi", nullptr, syevd<Complex128>, "nn"},
    {"gesdd", "m", "mvmmi", "mvmmi", gesdd<double>, gesdd<Complex128>, "mn"},
    {"gesvd", "m", "mvmmi", "mvmmi", gesdd<double>, gesdd<Complex128>, "mn"},
    {"geev", "m", "vvmmi", "vmmi", geev<double>, geev<Complex128>, "nn"},
    {"gees", "m", "mmvvni", "mmvni", gees<double>, gees<Complex128>, "nn"},
};

} // namespace

std::span<const Routine> spectralRoutines() { return routines; }

} // namespace treadle::lapack
