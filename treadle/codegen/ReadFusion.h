// Patterns that fuse reads by index with the ops that compute the tensors they read.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace treadle::codegen {

/// Whether an op only rearranges elements; fusing it is cheaper than storing its result, regardless
/// of the number of readers.
bool onlyRearranges(mlir::linalg::GenericOp op);
/// Whether the computation of an element depends on its index.
bool hasBranches(mlir::linalg::GenericOp op);

/// Adds patterns that replace the read of an element by its computation, and a choice between two
/// elements of one tensor by a choice between indices.
void populateReadPatterns(mlir::RewritePatternSet &patterns);

/// Adds a pattern that makes a tensor an operand of the op that reads its elements, if these follow
/// the op's loops: then the op's maps say how it traverses memory.
void populateOperandPatterns(mlir::RewritePatternSet &patterns);

} // namespace treadle::codegen
