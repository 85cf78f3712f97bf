// Elementwise ops, emitted as scalar operations.
#pragma once

#include "treadle/codegen/Scalars.h"
#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// The scalar implementation of an elementwise op.
struct ElementwiseOp {
  using Emit = mlir::Value (*)(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::ValueRange inputs, mlir::Type result);

  /// Whether it supports inputs of these element types.
  bool (*accepts)(llvm::ArrayRef<mlir::Type> inputs);
  /// Emits the result for scalar inputs: unsigned integers are passed as signless ones, halves as
  /// f32.
  Emit emit;
  /// Replaces `emit` if the first input or the result is unsigned; null if there is no difference.
  Emit emitUnsigned = nullptr;
  /// Whether `emit` takes and returns elements of any type without conversion.
  bool acceptsAnyType = false;

  /// Replace `emit` and `emitUnsigned` in loops over many elements, which may be vectorized; null
  /// if there is no difference.
  Emit emitMany = nullptr, emitManyUnsigned = nullptr;
  /// Whether it divides integers, so that the op must fail for zero divisors. The emitted code
  /// doesn't trap.
  bool dividesIntegers = false;

  /// Emits the result for scalar inputs of the element types.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                    mlir::Type result, bool isOfMany = false) const;
};

/// Returns null if compiled code must call the op's kernel for these element types.
const ElementwiseOp *findElementwise(tfg::Node node, llvm::ArrayRef<mlir::Type> inputs);

/// Whether this op is compiled for some element types.
bool isElementwise(llvm::StringRef op);

/// Converts a scalar to another type, with the semantics of Cast.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Type type);

/// Returns the angle of the point (x, y), like C's atan2.
mlir::Value angleOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value y, mlir::Value x);

} // namespace treadle::codegen
