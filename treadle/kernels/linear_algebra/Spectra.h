// Internal to the folder: eigenvalues and singular values of a matrix. Eigen takes half a minute to
// compile for each of these algorithms, so they are compiled once, for double and complex double.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

template <typename W> using Columns = Eigen::Matrix<W, Eigen::Dynamic, Eigen::Dynamic>;

template <typename W> struct Eigensystem {
  Columns<W> values, vectors; // of which the values are one column
};

/// The eigenvalues of a self-adjoint matrix, of which the lower triangle is read; false where they
/// aren't found.
template <typename W>
bool solveSelfAdjoint(const Columns<W> &matrix, bool hasVectors, Eigensystem<W> &result);

/// Those of any square matrix.
bool solveGeneral(const Columns<Complex128> &matrix, bool hasVectors,
                  Eigensystem<Complex128> &result);

enum class SingularVectors : uint8_t { None, Thin, Full };

template <typename W> struct SingularSystem {
  Columns<W> values, left, right; // of which the values are one column
};

/// The singular values of a matrix that has elements, all of them finite. Of the vectors as many as
/// there are values (`Thin`), or as many as make square matrices.
template <typename W>
SingularSystem<W> solveSingular(const Columns<W> &matrix, SingularVectors vectors);

} // namespace treadle
