// Internal to the folder: ops that call LAPACK routines.
#pragma once

#include "treadle/import/stablehlo/Body.h"

namespace treadle::hlo {

/// Whether a custom call's target is a routine that XlaCustomCallV2 supports.
bool isLapackCall(StringRef target);
/// Returns what a custom call states besides its operands: `uplo=76;mode=83`.
std::string optionsOf(Operation *op);
LogicalResult readLapackCall(Body &body, Operation *op);
LogicalResult readCholesky(Body &body, Operation *op);
LogicalResult readTriangularSolve(Body &body, Operation *op);

} // namespace treadle::hlo
