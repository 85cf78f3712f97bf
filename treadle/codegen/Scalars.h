// Scalars of the types that compiled code computes with.
#pragma once

#include "mlir/IR/Builders.h"

#include <utility>

namespace treadle::codegen {

/// Whether scalars and elements of this type are computed in registers.
bool isNative(mlir::Type elementType);

/// A float of 16 bits: arithmetic on it is done in f32, and rounded after each operation.
bool isHalf(mlir::Type type);

/// Unsigned integers are values of their own types, and computed as integers without a sign: the
/// same bits as another type.
mlir::Value retyped(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                    mlir::Type type);
/// The type that a value of this one is computed in.
mlir::Type computedIn(mlir::Type type);

/// A half as f32; other values as they are.
mlir::Value widened(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
/// An f32 rounded to a half, to even; for another type the value as it is.
mlir::Value narrowed(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     mlir::Type type);

/// The real and the imaginary part of a complex number.
using Parts = std::pair<mlir::Value, mlir::Value>;
Parts partsOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
mlir::Value complexOf(mlir::OpBuilder &builder, mlir::Location loc, Parts parts);

mlir::Value zeroOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);

/// One of two scalars of any type.
mlir::Value selected(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
                     mlir::Value value, mlir::Value otherwise);

} // namespace treadle::codegen
