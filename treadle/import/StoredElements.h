// Loads elements of constants that a text stores elsewhere or in another form.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Replaces attributes that refer to elements by attributes with elements: those in a resource of
/// the text (`dense_resource<...>`), and tensors that TensorFlow wrote as the text of a message.
/// Fails if the text lacks the elements or has a different number than the type.
mlir::LogicalResult loadStoredElements(mlir::ModuleOp module);

} // namespace treadle
