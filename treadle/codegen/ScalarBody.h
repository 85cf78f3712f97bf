// Translates scalar functions that ops apply to elements to scalar code.
#pragma once

#include "treadle/codegen/Translator.h"

namespace treadle::codegen {

/// Combines an element with another one; returns nullopt if that isn't possible.
using Combine = std::function<std::optional<mlir::Value>(mlir::Value, mlir::Value)>;

/// Returns the function that an attribute names; null if there is none.
tfg::FuncOp scalarFunction(Translator &t, tfg::Node node, llvm::StringRef attr);

/// Emits the function that an attribute names at the builder's position and returns its results.
/// Returns nullopt unless it consists of arithmetic on scalars.
std::optional<llvm::SmallVector<mlir::Value>> inlineScalars(Translator &t, tfg::Node node,
                                                            llvm::StringRef attr,
                                                            llvm::ArrayRef<mlir::Value> arguments);

/// Whether an operation may be inside loops over elements: it can't fail, and doesn't use whole
/// tensors.
bool isAllowedPerElement(mlir::Operation *op);

} // namespace treadle::codegen
