// Scalars of the types that compiled code supports.
#pragma once

#include "mlir/IR/Builders.h"

#include <utility>

namespace treadle::codegen {

/// Whether scalars and elements of this type are computed in registers.
bool isNative(mlir::Type elementType);

/// Whether the type is a 16-bit float. Arithmetic on it is done in f32, and rounded after each
/// operation.
bool isHalf(mlir::Type type);

/// Reinterprets a value as another type. Unsigned integers are values of their own types, computed
/// as signless integers with the same bits.
mlir::Value reinterpreted(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                          mlir::Type type);
/// Returns the type in which values of this type are computed.
mlir::Type computedIn(mlir::Type type);

/// Converts a half to f32; returns other values unchanged.
mlir::Value widened(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
/// Rounds an f32 to a half, ties to even; returns the value unchanged for other types.
mlir::Value narrowed(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     mlir::Type type);

/// The real and the imaginary part of a complex number.
using Parts = std::pair<mlir::Value, mlir::Value>;
Parts partsOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
mlir::Value complexOf(mlir::OpBuilder &builder, mlir::Location loc, Parts parts);

mlir::Value zeroOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);

/// Selects one of two scalars of any type.
mlir::Value selected(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition,
                     mlir::Value value, mlir::Value otherwise);

} // namespace treadle::codegen
