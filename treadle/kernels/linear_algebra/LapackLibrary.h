// Internal to the folder: LAPACK's routines for large matrices, from an OpenBLAS that is loaded
// when the first of them comes.
#pragma once

#include "treadle/kernels/linear_algebra/Spectra.h"

namespace treadle::lapack {

enum class Spectrum : uint8_t { SelfAdjoint, Singular, General };

/// Whether the library is there and faster for matrices of this size than Eigen; where results
/// should be as Eigen's (`asEigen`), only for those that are larger than most. Loads it the first
/// time that a matrix is large enough. Routines may be called from several threads; the library has
/// none.
bool isFaster(Spectrum kind, int64_t rows, int64_t columns, bool asEigen);
/// The same of Cholesky factors, and of LU factors by columns.
bool isFasterCholesky(int64_t size);
bool isFasterLu(int64_t rows, int64_t columns);

/// Whether the library is there for matrices of this size: what no definition tells, such as the
/// order of eigenvalues, is as others have it then.
bool isThere(int64_t size);

/// The routines need one of these answers. Matrices have elements, all of them finite; what they
/// hold afterwards is anything where nothing is said. False where the algorithm finds nothing.

/// Values in ascending order, of a self-adjoint matrix of which the lower triangle is read. Its
/// vectors stand in `matrix` if they are asked for.
template <typename T>
bool selfAdjoint(Columns<T> &matrix, bool hasVectors, Columns<RealOf<T>> &values);

/// Values in descending order, and the vectors as columns on the left and as adjoint rows on the
/// right.
template <typename T>
bool singular(Columns<T> &matrix, SingularVectors vectors, Columns<RealOf<T>> &values,
              Columns<T> &left, Columns<T> &rightAdjoint);

/// Values of any square matrix, and the vectors of length 1 of both sides that are asked for.
template <typename T>
bool general(Columns<T> &matrix, bool hasLeft, bool hasRight,
             Columns<std::complex<RealOf<T>>> &values, Columns<std::complex<RealOf<T>>> &left,
             Columns<std::complex<RealOf<T>>> &right);

/// The Schur form of a square matrix in its place, and its vectors.
template <typename T> bool schur(Columns<T> &matrix, Columns<T> &vectors);

/// The factor L of L L^H in the lower triangle, or U of U^H U in the upper one, of a matrix by
/// columns. Returns 0, or the number of the first minor that isn't positive.
template <typename T> int cholesky(T *matrix, int64_t size, bool isLower);

/// Both factors in one matrix by columns, and for each row (counted from 1) the one that it was
/// swapped with. Returns 0, or the number of the first pivot that is 0.
template <typename T> int lu(T *matrix, int64_t rows, int64_t columns, int *swaps);

} // namespace treadle::lapack
