// Ops that compute each element of their result from one element of each input, as scalar
// operations.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// An op on elements.
struct ElementwiseOp {
  /// Whether it is one for inputs of these element types.
  bool (*accepts)(llvm::ArrayRef<mlir::Type> inputs);
  /// The result for inputs that are scalars of the element types, unsigned integers as integers
  /// without a sign.
  mlir::Value (*emit)(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                      mlir::Type result);
  /// Whether these inputs have a result, as an i1; null where all have. Where they have none the
  /// op fails, or its result is the kernel's business.
  mlir::Value (*isDefined)(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                           mlir::Type result) = nullptr;
  /// Whether `isDefined` needn't be asked for these element types; null: it must.
  bool (*isTotal)(mlir::Type input, mlir::Type result) = nullptr;
  /// The same as `emit` where the first input or the result is unsigned; null: nothing differs.
  mlir::Value (*emitUnsigned)(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                              mlir::Type result) = nullptr;

  /// The same as `emit` where many elements are computed one by one, by vectors if that can be;
  /// null: nothing differs.
  mlir::Value (*emitMany)(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                          mlir::Type result) = nullptr;

  /// Whether it divides integers: it is undefined for divisors that are zero, and for no others.
  /// What is emitted doesn't trap.
  bool dividesIntegers = false;

  /// The result for inputs that are scalars of the element types.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
                    mlir::Type result, bool isOfMany = false) const;

  /// An op that may be undefined for an element is left to its kernel where it is one over tensors,
  /// unless it is a division.
  bool isDefinedForAll(mlir::Type input, mlir::Type result) const {
    return !isDefined || (isTotal && isTotal(input, result));
  }
};

/// Null if compiled code leaves this op, with these element types, to its kernel.
const ElementwiseOp *findElementwise(tfg::Node node, llvm::ArrayRef<mlir::Type> inputs);

/// Whether there are element types with which this op is compiled.
bool isElementwise(llvm::StringRef op);

/// Whether scalars and elements of this type are computed in registers.
bool isNative(mlir::Type elementType);

/// Unsigned integers are values of their own types, and computed as integers without a sign: the
/// same bits as another type.
mlir::Value retyped(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                    mlir::Type type);
/// The type that a value of this one is computed in.
mlir::Type computedIn(mlir::Type type);

} // namespace treadle::codegen
