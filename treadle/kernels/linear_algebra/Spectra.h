// Internal to the folder: eigenvalues and singular values of a matrix. Eigen takes half a minute to
// compile each of these algorithms, so they are compiled only for double and complex double; large
// matrices use LAPACK, if it is installed, in their own type.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

template <typename T> using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T> using RealOf = typename Eigen::NumTraits<T>::Real;
template <typename T> using ComplexOf = std::complex<RealOf<T>>;

/// The choice of vectors, which are only determined up to a sign or a factor of absolute value 1:
/// as Eigen returns them, which TensorFlow uses and its tests compare; or any, as for JAX's calls,
/// and if only values are computed.
enum class SignConvention : uint8_t { AsEigen, Any };

template <typename T> struct Eigensystem {
  Columns<T> values, vectors; // the values are one column
};

/// Computes the eigenvalues of a self-adjoint matrix, reading its lower triangle; false if the
/// algorithm fails.
template <typename T>
bool solveSelfAdjoint(const Columns<T> &matrix, bool hasVectors, SignConvention signs,
                      Eigensystem<T> &result);

/// Computes those of any square matrix, by the complex algorithm.
template <typename T>
bool solveGeneral(const Columns<T> &matrix, bool hasVectors, SignConvention signs,
                  Eigensystem<ComplexOf<T>> &result);

enum class SingularVectors : uint8_t { None, Thin, Full };

template <typename T> struct SingularSystem {
  Columns<T> values, left, right; // the values are one column
};

/// Computes the singular values of a non-empty, finite matrix, and as many vectors as there are
/// values (`Thin`), or as many as make square matrices.
template <typename T>
SingularSystem<T> solveSingular(const Columns<T> &matrix, SingularVectors vectors,
                                SignConvention signs);

} // namespace treadle
