// Reads by index that see through what computes the tensor they read.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace treadle::codegen {

/// Whether an op does no more than to say where its elements come from: reading through it costs
/// less than its result in memory, however many read it.
bool onlyMoves(mlir::linalg::GenericOp op);
/// Whether what an op does to an element differs by the element's index.
bool hasBranches(mlir::linalg::GenericOp op);

/// What reads one element of a tensor computes that element; what reads one of two elements of the
/// same tensor chooses the index.
void populateReadPatterns(mlir::RewritePatternSet &patterns);

} // namespace treadle::codegen
