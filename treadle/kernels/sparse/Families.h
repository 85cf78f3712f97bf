// Kernels for tensors with explicit structure: SparseTensor (COO), CSR matrices, ragged tensors,
// sets.
#include "treadle/runtime/Kernel.h"

/// Bincount of each row as a sparse tensor, for dense, sparse and ragged values.
TREADLE_FAMILY(countSparseKernels)
/// Elementwise ops on CSR matrices: sums, scaling, softmax.
TREADLE_FAMILY(csrElementwiseKernels)
/// CSR matrices: conversion from and to dense and sparse tensors.
TREADLE_FAMILY(csrMatrixKernels)
/// Products of CSR matrices, their transposes, orderings and Cholesky factors.
TREADLE_FAMILY(csrProductKernels)
/// EditDistance: Levenshtein distances between pairs of sequences of two sparse tensors.
TREADLE_FAMILY(editDistanceKernels)
/// Feature crosses: for each row, all combinations of one feature from each column, joined as text
/// or hashed.
TREADLE_FAMILY(featureCrossKernels)
/// Packing of ragged tensors into variants, one for the whole tensor or one per row, and unpacking.
TREADLE_FAMILY(raggedKernels)
/// Ragged tensors as splits and values: ranges, gather, conversion to sparse.
TREADLE_FAMILY(raggedRowKernels)
/// RaggedTensorToTensor: pads rows of different lengths to a dense tensor.
TREADLE_FAMILY(raggedToTensorKernels)
/// Sets in the last dimension of dense or sparse tensors: union, difference, intersection, size.
TREADLE_FAMILY(setKernels)
/// Gradients of ops on sparse tensors: each entry of an operand gets the gradient of the result's
/// entry with the same index, or zero if there is none.
TREADLE_FAMILY(sparseGradientKernels)
/// Arithmetic on sparse tensors: products, reductions, softmax, and ops with dense tensors.
TREADLE_FAMILY(sparseMathKernels)
/// Entrywise ops on two sparse tensors of one shape: SparseAdd, SparseSparseMaximum,
/// SparseSparseMinimum.
TREADLE_FAMILY(sparseMergeKernels)
/// Sums and means of gathered rows by sorted segment ids (used by embedding lookups), and their
/// gradients.
TREADLE_FAMILY(sparseSegmentKernels)
/// Serialization of sparse tensors: an element each for indices, values and shape.
TREADLE_FAMILY(sparseSerializeKernels)
/// Reordering, reshaping, slicing and concatenation of sparse tensors.
TREADLE_FAMILY(sparseShapeKernels)
/// Maps that store sparse tensors under integer handles, which queues and batches can pass on.
TREADLE_FAMILY(sparseTensorMapKernels)
