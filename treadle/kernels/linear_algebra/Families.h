// Linear algebra: decompositions, eigenvalues, inverses, linear systems, diagonals and bands,
// LAPACK calls.
#include "treadle/runtime/Kernel.h"

/// Matrices with few diagonals: linear systems with tridiagonal and banded triangular matrices, and
/// products with tridiagonal matrices.
TREADLE_FAMILY(bandedMatrixKernels)
/// Cross: products of three-dimensional vectors, along the last dimension.
TREADLE_FAMILY(crossProductKernels)
/// Matrix decompositions: Qr and Svd.
TREADLE_FAMILY(decompositionKernels)
/// Eigenvalues and eigenvectors of self-adjoint and of general matrices.
TREADLE_FAMILY(eigenvalueKernels)
/// Least squares, and the gradient of the Cholesky decomposition.
TREADLE_FAMILY(leastSquaresKernels)
/// Cholesky decomposition, inverses, determinants and linear systems.
TREADLE_FAMILY(linearAlgebraKernels)
/// Diagonals and bands of batches of matrices, and diagonals of whole tensors.
TREADLE_FAMILY(matrixKernels)
/// Square roots, logarithms and exponentials of matrices.
TREADLE_FAMILY(matrixFunctionKernels)
/// XlaCustomCallV2: calls a routine by name.
TREADLE_FAMILY(xlaCustomCallKernels)
/// Initial centers of clustering (k-means++).
TREADLE_FAMILY(clusteringKernels)
