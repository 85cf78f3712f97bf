// Vectorization of loops around other loops.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace treadle::codegen {

/// Vectorizes a loop with independent iterations that contains loops, which LLVM doesn't: several
/// iterations run together, one in each element of vectors, and a loop inside of it runs until it
/// has ended for all of them. Returns false if that isn't possible; then the loop is unchanged.
bool vectorizeOuter(mlir::scf::ForOp loop);

} // namespace treadle::codegen
