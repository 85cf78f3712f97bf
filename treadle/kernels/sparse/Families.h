// Tensors that say where their elements are: coordinates (SparseTensor), compressed rows (CSR),
// ragged rows, sets.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// How often each number occurs in each row, as a sparse tensor: of dense, sparse and ragged
/// values.
std::span<const KernelEntry> countSparseKernels();
/// Ops on the entries of compressed sparse matrices: sums, products with a scalar, softmaxes.
std::span<const KernelEntry> csrElementwiseKernels();
/// Compressed sparse matrices: made of dense ones and of entries, and turned back into those.
std::span<const KernelEntry> csrMatrixKernels();
/// Products with compressed sparse matrices, their transposes, orderings and Cholesky factors.
std::span<const KernelEntry> csrProductKernels();
/// EditDistance: how many insertions, deletions and replacements make one sequence into another,
/// for each pair of sequences of two sparse tensors.
std::span<const KernelEntry> editDistanceKernels();
/// Crosses of features: for each row, all combinations of one feature from each column, joined as
/// text or hashed.
std::span<const KernelEntry> featureCrossKernels();
/// Ragged tensors packed into variants, one for the whole or one a row, as maps over them pass
/// them.
std::span<const KernelEntry> raggedKernels();
/// Ragged tensors given by splits and values: ranges as rows, rows gathered, conversion to sparse.
std::span<const KernelEntry> raggedRowKernels();
/// RaggedTensorToTensor: rows of different lengths become a tensor, filled up with a default.
std::span<const KernelEntry> raggedToTensorKernels();
/// Sets kept in the last dimension of dense or sparse tensors: their unions, differences and sizes.
std::span<const KernelEntry> setKernels();
/// Gradients of ops on sparse tensors: each entry of an operand takes the gradient of the entry of
/// the result that has its index, or zero where there is none.
std::span<const KernelEntry> sparseGradientKernels();
/// Arithmetic on sparse tensors: products, sums and maxima, softmax, and with dense ones.
std::span<const KernelEntry> sparseMathKernels();
/// Ops on two sparse tensors of one shape, entry by entry: SparseAdd, the sparse maximum and
/// minimum.
std::span<const KernelEntry> sparseMergeKernels();
/// Sums and means of chosen rows of a tensor by sorted segment ids (the heart of embedding
/// lookups), and their gradients.
std::span<const KernelEntry> sparseSegmentKernels();
/// Sparse tensors packed into elements of one tensor, as maps over sparse tensors pass them: an
/// element each for indices, values and shape.
std::span<const KernelEntry> sparseSerializeKernels();
/// Sparse tensors put in order, reshaped, cut and joined.
std::span<const KernelEntry> sparseShapeKernels();
/// Maps that keep sparse tensors under numbers, so that queues and batches may pass numbers on.
std::span<const KernelEntry> sparseTensorMapKernels();

inline constexpr KernelFamily sparseFamilies[] = {
    TREADLE_FAMILY(countSparseKernels),     TREADLE_FAMILY(csrElementwiseKernels),
    TREADLE_FAMILY(csrMatrixKernels),       TREADLE_FAMILY(csrProductKernels),
    TREADLE_FAMILY(editDistanceKernels),    TREADLE_FAMILY(featureCrossKernels),
    TREADLE_FAMILY(raggedKernels),          TREADLE_FAMILY(raggedRowKernels),
    TREADLE_FAMILY(raggedToTensorKernels),  TREADLE_FAMILY(setKernels),
    TREADLE_FAMILY(sparseGradientKernels),  TREADLE_FAMILY(sparseMathKernels),
    TREADLE_FAMILY(sparseMergeKernels),     TREADLE_FAMILY(sparseSegmentKernels),
    TREADLE_FAMILY(sparseSerializeKernels), TREADLE_FAMILY(sparseShapeKernels),
    TREADLE_FAMILY(sparseTensorMapKernels)};

} // namespace treadle
