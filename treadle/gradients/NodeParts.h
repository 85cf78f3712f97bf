// What gradients of calls, conditionals and loops share: attributes of the nodes that they replace
// and make, and functions that are done.
#pragma once

#include "treadle/gradients/Backpropagation.h"

namespace treadle::tfg {

/// The value of an attribute like `body`.
mlir::Attribute functionName(FuncOp function);
/// The value of an attribute like `Tin`.
mlir::Attribute listOfDtypes(Emitter &e, mlir::TypeRange elements);
mlir::Attribute listOfDtypes(Emitter &e, llvm::ArrayRef<mlir::Value> values);

/// Another node in the place of this one, with more results after its own; what used its results
/// uses the new ones'. `changed` are attributes that it has instead of its own or beside them.
Node withResults(Node node, llvm::StringRef op, mlir::TypeRange moreElements,
                 llvm::ArrayRef<mlir::NamedAttribute> changed);

/// Some value of the dtype; null for handles.
mlir::Value placeholderValue(Emitter &e, mlir::Type element);

/// The function gets no more nodes: says whether it has effects, and tells the library.
void finishFunction(SymbolicGradients &library, FuncOp function);
bool arePure(SymbolicGradients &library, llvm::ArrayRef<FuncOp> functions);

/// `in the gradient of function 'f': ...`
Unexpected inFunction(FuncOp function, Error error);

} // namespace treadle::tfg
