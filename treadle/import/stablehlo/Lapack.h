// Internal to the folder: what is done by routines of LAPACK.
#pragma once

#include "treadle/import/stablehlo/Body.h"

namespace treadle::hlo {

/// Whether a custom call's target is a routine that XlaCustomCallV2 knows.
bool isLapackCall(StringRef target);
/// `uplo=76;mode=83`: what a custom call states besides its operands.
std::string optionsOf(Operation *op);
LogicalResult readLapackCall(Body &body, Operation *op);
LogicalResult readCholesky(Body &body, Operation *op);
LogicalResult readTriangularSolve(Body &body, Operation *op);

} // namespace treadle::hlo
