// Matrices as such: factors, eigenvalues, inverses, solutions of equations, diagonals and bands,
// calls of LAPACK.
#include "treadle/runtime/Kernel.h"

/// Matrices with few diagonals: equations with tridiagonal and with banded triangular matrices, and
/// products with tridiagonal ones.
TREADLE_FAMILY(bandedMatrixKernels)
/// Cross: products of vectors of three, along the last dimension.
TREADLE_FAMILY(crossProductKernels)
/// Matrices as products: Qr and Svd.
TREADLE_FAMILY(decompositionKernels)
/// Eigenvalues and eigenvectors, of self-adjoint matrices and of any.
TREADLE_FAMILY(eigenvalueKernels)
/// Least squares, and the gradient of Cholesky's decomposition.
TREADLE_FAMILY(leastSquaresKernels)
/// Cholesky factors, inverses, determinants and solutions of linear equations.
TREADLE_FAMILY(linearAlgebraKernels)
/// Diagonals and bands of matrices in batches, and diagonals of whole tensors.
TREADLE_FAMILY(matrixKernels)
/// Square roots, logarithms and exponentials of matrices.
TREADLE_FAMILY(matrixFunctionKernels)
/// XlaCustomCallV2: a routine by its name.
TREADLE_FAMILY(xlaCustomCallKernels)
/// Centers that clustering begins with, drawn far from each other.
TREADLE_FAMILY(clusteringKernels)
