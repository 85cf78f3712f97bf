// Internal to the folder: structured ops on tensors.
#pragma once

#include "mlir/IR/MLIRContext.h"

namespace treadle::hlo {

/// Loads the dialects that texts with linalg and bufferization need.
void loadLinalg(mlir::MLIRContext &context);

} // namespace treadle::hlo
