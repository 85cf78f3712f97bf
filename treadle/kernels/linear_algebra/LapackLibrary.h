// Internal to the folder: LAPACK routines for large matrices, from an OpenBLAS that is loaded for
// the first of them.
#pragma once

#include "treadle/kernels/linear_algebra/Spectra.h"

namespace treadle::lapack {

enum class Spectrum : uint8_t { SelfAdjoint, Singular, General };

/// Whether the library is installed and faster than Eigen for matrices of this size; with `asEigen`
/// (results should equal Eigen's) only for unusually large matrices. Loads the library for the
/// first matrix that is large enough. Thread-safe.
bool isFaster(Spectrum kind, int64_t rows, int64_t columns, bool asEigen);
/// Like `isFaster`, but for Cholesky and column-major LU factors.
bool isFasterCholesky(int64_t size);
bool isFasterLu(int64_t rows, int64_t columns);

/// Whether the library is installed and supports matrices of this size. If so, results that LAPACK
/// leaves open, such as the order of eigenvalues, are the same as in other programs that use
/// LAPACK.
bool isInstalledFor(int64_t size);

/// The routines require that one of these functions returned true. Matrices must be non-empty and
/// finite; unless stated otherwise, their contents are undefined afterwards. Routines return false
/// if the algorithm doesn't converge.

/// Computes the values of a self-adjoint matrix in ascending order, reading its lower triangle. If
/// requested, writes the vectors to `matrix`.
template <typename T>
bool selfAdjoint(Columns<T> &matrix, bool hasVectors, Columns<RealOf<T>> &values);

/// Computes the singular values in descending order, the left vectors as columns and the right ones
/// as adjoint rows.
template <typename T>
bool singular(Columns<T> &matrix, SingularVectors vectors, Columns<RealOf<T>> &values,
              Columns<T> &left, Columns<T> &rightAdjoint);

/// Computes the eigenvalues of any square matrix, and the left and right vectors of norm 1 on
/// request.
template <typename T>
bool general(Columns<T> &matrix, bool hasLeft, bool hasRight,
             Columns<std::complex<RealOf<T>>> &values, Columns<std::complex<RealOf<T>>> &left,
             Columns<std::complex<RealOf<T>>> &right);

/// Replaces a square matrix by its Schur form, and computes the Schur vectors.
template <typename T> bool schur(Columns<T> &matrix, Columns<T> &vectors);

/// Computes the factor L of L L^H in the lower triangle, or U of U^H U in the upper one, of a
/// column-major matrix. Returns 0, or the number of the first minor that isn't positive.
template <typename T> int cholesky(T *matrix, int64_t size, bool isLower);

/// Computes both factors in one column-major matrix, and for each row the row (counted from 1) that
/// it was swapped with. Returns 0, or the number of the first zero pivot.
template <typename T> int lu(T *matrix, int64_t rows, int64_t columns, int *swaps);

} // namespace treadle::lapack
