// Internal to the folder: ops that call LAPACK routines.
#pragma once

#include "treadle/import/stablehlo/BodyConverter.h"

namespace treadle::hlo {

/// Whether a custom call's target is a routine that XlaCustomCallV2 supports.
bool isLapackCall(StringRef target);
/// Returns the parameters of a custom call besides its operands: `uplo=76;mode=83`.
std::string optionsOf(Operation *op);
LogicalResult readLapackCall(BodyConverter &body, Operation *op);
LogicalResult readCholesky(BodyConverter &body, Operation *op);
LogicalResult readTriangularSolve(BodyConverter &body, Operation *op);

} // namespace treadle::hlo
