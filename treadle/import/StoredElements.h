// Elements of constants that a text has elsewhere, or in another form.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Puts the elements of attributes where the attributes are: those that lie in a resource of the
/// text
/// (`dense_resource<...>`), and tensors that TensorFlow wrote as the text of a message. Fails where
/// the text has no elements, or not as many as the type says.
mlir::LogicalResult takeStoredElements(mlir::ModuleOp module);

} // namespace treadle
