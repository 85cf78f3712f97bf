// Ops that compute each element of their result from one element of each input, as scalar
// operations.
#pragma once

#include "treadle/codegen/Scalars.h"
#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// An op on elements.
struct ElementwiseOp {
  using Emit = mlir::Value (*)(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::ValueRange inputs, mlir::Type result);

  /// Whether it is one for inputs of these element types.
  bool (*accepts)(llvm::ArrayRef<mlir::Type> inputs);
  /// The result for inputs that are scalars of the element types: unsigned integers as integers
  /// without a sign, halves as f32.
  Emit emit;
  /// The same as `emit` where the first input or the result is unsigned; null: nothing differs.
  Emit emitUnsigned = nullptr;
  /// Whether `emit` takes and gives elements of any type as they are.
  bool takesAll = false;

  /// The same as `emit` and `emitUnsigned` where many elements are computed one by one, by vectors
  /// if that can be; null: nothing differs.
  Emit emitMany = nullptr, emitManyUnsigned = nullptr;
  /// Whether it divides integers: it fails for divisors that are zero. What is emitted doesn't
  /// trap.
  bool dividesIntegers = false;

  /// The result for inputs that are scalars of the element types.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                    mlir::Type result, bool isOfMany = false) const;
};

/// Null if compiled code leaves this op, with these element types, to its kernel.
const ElementwiseOp *findElementwise(tfg::Node node, llvm::ArrayRef<mlir::Type> inputs);

/// Whether there are element types with which this op is compiled.
bool isElementwise(llvm::StringRef op);

/// A scalar as another type, as Cast has it.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Type type);

/// The angle of the point (x, y), as C's atan2 has it.
mlir::Value angleOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value y, mlir::Value x);

} // namespace treadle::codegen
