// Internal to the folder: rewriting a program before it is read.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace treadle::hlo {

/// An op of one result, by name.
mlir::Value makeOp(mlir::OpBuilder &builder, mlir::Location location, llvm::StringRef name,
                   mlir::ValueRange operands, mlir::Type result,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

/// The type with another element type; what has no elements is its own.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// The name of an op of stablehlo, mhlo or chlo, which its dialect has verified; empty for others.
llvm::StringRef hloName(mlir::Operation *op);

/// Whether the op moves values and computes none, or leaves computing to its regions or to
/// functions: its results have the type of what goes in.
bool isMove(mlir::Operation *op);

/// Gives every value of the module the element type that `convert` has for its own, in the types of
/// functions as well.
void replaceElementTypes(mlir::ModuleOp module, llvm::function_ref<mlir::Type(mlir::Type)> convert);

/// Whether the element type of a value or an argument, also in regions, fulfils the predicate.
bool hasElementType(mlir::ModuleOp module, llvm::function_ref<bool(mlir::Type)> predicate);

} // namespace treadle::hlo
