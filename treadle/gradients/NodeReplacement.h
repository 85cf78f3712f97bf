// Shared by the gradients of calls, conditionals and loops: attributes of replaced and new nodes.
#pragma once

#include "treadle/gradients/Backpropagation.h"

namespace treadle::tfg {

/// Returns the value of an attribute such as `body`.
mlir::Attribute functionName(FuncOp function);
/// Returns the value of an attribute such as `Tin`.
mlir::Attribute dtypeArrayAttr(Emitter &e, mlir::TypeRange elements);
mlir::Attribute dtypeArrayAttr(Emitter &e, llvm::ArrayRef<mlir::Value> values);

/// Replaces the node by one with additional results, and redirects its uses. `changed` overrides or
/// extends its attributes.
Node withResults(Node node, llvm::StringRef op, mlir::TypeRange moreElements,
                 llvm::ArrayRef<mlir::NamedAttribute> changed);

/// Returns an arbitrary value of the dtype; null for handles.
mlir::Value placeholderValue(Emitter &e, mlir::Type element);

/// Prefixes the error: `in the gradient of function 'f': ...`
Unexpected withFunctionContext(FuncOp function, Error error);

} // namespace treadle::tfg
