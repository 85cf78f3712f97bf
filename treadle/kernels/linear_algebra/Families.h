// Matrices as such: factors, eigenvalues, inverses, solutions of equations, diagonals and bands,
// calls of LAPACK.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Matrices with few diagonals: equations with tridiagonal and with banded triangular matrices, and
/// products with tridiagonal ones.
std::span<const KernelEntry> bandedMatrixKernels();
/// Cross: products of vectors of three, along the last dimension.
std::span<const KernelEntry> crossProductKernels();
/// Matrices as products: Qr and Svd.
std::span<const KernelEntry> decompositionKernels();
/// Eigenvalues and eigenvectors, of self-adjoint matrices and of any.
std::span<const KernelEntry> eigenvalueKernels();
/// Least squares, and the gradient of Cholesky's decomposition.
std::span<const KernelEntry> leastSquaresKernels();
/// Cholesky factors, inverses, determinants and solutions of linear equations.
std::span<const KernelEntry> linearAlgebraKernels();
/// Diagonals and bands of matrices in batches, and diagonals of whole tensors.
std::span<const KernelEntry> matrixKernels();
/// Square roots, logarithms and exponentials of matrices.
std::span<const KernelEntry> matrixFunctionKernels();
/// XlaCustomCallV2: a routine by its name.
std::span<const KernelEntry> xlaCustomCallKernels();
/// Centers that clustering begins with, drawn far from each other.
std::span<const KernelEntry> clusteringKernels();

inline constexpr KernelFamily linearAlgebraFamilies[] = {
    TREADLE_FAMILY(bandedMatrixKernels),  TREADLE_FAMILY(crossProductKernels),
    TREADLE_FAMILY(decompositionKernels), TREADLE_FAMILY(eigenvalueKernels),
    TREADLE_FAMILY(leastSquaresKernels),  TREADLE_FAMILY(linearAlgebraKernels),
    TREADLE_FAMILY(matrixKernels),        TREADLE_FAMILY(matrixFunctionKernels),
    TREADLE_FAMILY(xlaCustomCallKernels), TREADLE_FAMILY(clusteringKernels)};

} // namespace treadle
