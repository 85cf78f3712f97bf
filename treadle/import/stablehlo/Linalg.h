// Internal to the folder: structured ops on tensors.
#pragma once

#include "mlir/IR/MLIRContext.h"

namespace treadle::hlo {

/// Loads what the text of programs of linalg and bufferization needs.
void loadLinalg(mlir::MLIRContext &context);

} // namespace treadle::hlo
