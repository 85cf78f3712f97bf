// The order of the loops of a reduction.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace treadle::codegen {

/// Makes a parallel loop the innermost one if the innermost loop is a reduction that is too short
/// for vectors, and the elements of all operands along the parallel loop are neighbours in memory
/// or the same.
mlir::linalg::GenericOp withLoopForVectors(mlir::linalg::GenericOp op);

} // namespace treadle::codegen
