// Tensors that say where their elements are: coordinates (SparseTensor), compressed rows (CSR),
// ragged rows, sets.
#include "treadle/runtime/Kernel.h"

/// How often each number occurs in each row, as a sparse tensor: of dense, sparse and ragged
/// values.
TREADLE_FAMILY(countSparseKernels)
/// Ops on the entries of compressed sparse matrices: sums, products with a scalar, softmaxes.
TREADLE_FAMILY(csrElementwiseKernels)
/// Compressed sparse matrices: made of dense ones and of entries, and turned back into those.
TREADLE_FAMILY(csrMatrixKernels)
/// Products with compressed sparse matrices, their transposes, orderings and Cholesky factors.
TREADLE_FAMILY(csrProductKernels)
/// EditDistance: how many insertions, deletions and replacements make one sequence into another,
/// for each pair of sequences of two sparse tensors.
TREADLE_FAMILY(editDistanceKernels)
/// Crosses of features: for each row, all combinations of one feature from each column, joined as
/// text or hashed.
TREADLE_FAMILY(featureCrossKernels)
/// Ragged tensors packed into variants, one for the whole or one a row, as maps over them pass
/// them.
TREADLE_FAMILY(raggedKernels)
/// Ragged tensors given by splits and values: ranges as rows, rows gathered, conversion to sparse.
TREADLE_FAMILY(raggedRowKernels)
/// RaggedTensorToTensor: rows of different lengths become a tensor, filled up with a default.
TREADLE_FAMILY(raggedToTensorKernels)
/// Sets kept in the last dimension of dense or sparse tensors: their unions, differences and sizes.
TREADLE_FAMILY(setKernels)
/// Gradients of ops on sparse tensors: each entry of an operand takes the gradient of the entry of
/// the result that has its index, or zero where there is none.
TREADLE_FAMILY(sparseGradientKernels)
/// Arithmetic on sparse tensors: products, sums and maxima, softmax, and with dense ones.
TREADLE_FAMILY(sparseMathKernels)
/// Ops on two sparse tensors of one shape, entry by entry: SparseAdd, the sparse maximum and
/// minimum.
TREADLE_FAMILY(sparseMergeKernels)
/// Sums and means of chosen rows of a tensor by sorted segment ids (the heart of embedding
/// lookups), and their gradients.
TREADLE_FAMILY(sparseSegmentKernels)
/// Sparse tensors packed into elements of one tensor, as maps over sparse tensors pass them: an
/// element each for indices, values and shape.
TREADLE_FAMILY(sparseSerializeKernels)
/// Sparse tensors put in order, reshaped, cut and joined.
TREADLE_FAMILY(sparseShapeKernels)
/// Maps that keep sparse tensors under numbers, so that queues and batches may pass numbers on.
TREADLE_FAMILY(sparseTensorMapKernels)
