// Functions of scalars that ops call for each element, as scalar code.
#pragma once

#include "treadle/codegen/Translator.h"

namespace treadle::codegen {

/// What becomes of an element and another one; nothing where that can't be told.
using Combine = std::function<std::optional<mlir::Value>(mlir::Value, mlir::Value)>;

/// The function that an attribute names; null if there is none.
tfg::FuncOp scalarFunction(Translator &t, tfg::Node node, llvm::StringRef attr);

/// The results of the function that an attribute names, where the builder is; nothing where it is
/// more than arithmetic on scalars.
std::optional<llvm::SmallVector<mlir::Value>> inlineScalars(Translator &t, tfg::Node node,
                                                            llvm::StringRef attr,
                                                            llvm::ArrayRef<mlir::Value> arguments);

/// Whether loops over elements may do this: nothing that fails, and nothing of whole tensors.
bool isOfElements(mlir::Operation *op);

} // namespace treadle::codegen
