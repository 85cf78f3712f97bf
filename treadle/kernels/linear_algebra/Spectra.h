// Internal to the folder: eigenvalues and singular values of a matrix. Eigen takes half a minute to
// compile for each of these algorithms, so they are compiled once, for double and complex double;
// large matrices are LAPACK's, in their own type, where it is there.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

template <typename T> using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T> using RealOf = typename Eigen::NumTraits<T>::Real;
template <typename T> using ComplexOf = std::complex<RealOf<T>>;

/// Vectors have a sign, or a factor of size 1, that no definition tells: as Eigen gives them, which
/// TensorFlow does for its ops and its tests compare; or any, as for JAX's calls, and for values
/// alone.
enum class Signs : uint8_t { AsEigen, Any };

template <typename T> struct Eigensystem {
  Columns<T> values, vectors; // of which the values are one column
};

/// The eigenvalues of a self-adjoint matrix, of which the lower triangle is read; false where they
/// aren't found.
template <typename T>
bool solveSelfAdjoint(const Columns<T> &matrix, bool hasVectors, Signs signs,
                      Eigensystem<T> &result);

/// Those of any square matrix, by the algorithm for complex ones.
template <typename T>
bool solveGeneral(const Columns<T> &matrix, bool hasVectors, Signs signs,
                  Eigensystem<ComplexOf<T>> &result);

enum class SingularVectors : uint8_t { None, Thin, Full };

template <typename T> struct SingularSystem {
  Columns<T> values, left, right; // of which the values are one column
};

/// The singular values of a matrix that has elements, all of them finite. Of the vectors as many as
/// there are values (`Thin`), or as many as make square matrices.
template <typename T>
SingularSystem<T> solveSingular(const Columns<T> &matrix, SingularVectors vectors, Signs signs);

} // namespace treadle
