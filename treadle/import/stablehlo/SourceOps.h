// Internal to the folder: rewrites a program before its conversion.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace treadle::hlo {

/// Creates an op with one result by name.
mlir::Value makeOp(mlir::OpBuilder &builder, mlir::Location location, llvm::StringRef name,
                   mlir::ValueRange operands, mlir::Type result,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

/// Returns the type with another element type; types without elements are unchanged.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// Returns the name of an op of stablehlo, mhlo or chlo, which its dialect has verified; empty for
/// other ops.
llvm::StringRef hloName(mlir::Operation *op);

/// Whether the op moves values without computing, or computes only in its regions or functions: its
/// results have the element types of its operands.
bool isMove(mlir::Operation *op);

/// Replaces the element types of all values in the module by `convert`, including those in function
/// types.
void replaceElementTypes(mlir::ModuleOp module, llvm::function_ref<mlir::Type(mlir::Type)> convert);

/// Whether the element type of a value or argument, including those in regions, satisfies the
/// predicate.
bool hasElementType(mlir::ModuleOp module, llvm::function_ref<bool(mlir::Type)> predicate);

} // namespace treadle::hlo
