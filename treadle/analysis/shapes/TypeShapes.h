// Conversion between shapes and types of the IR.
#pragma once

#include "treadle/shapes/Shape.h"

#include "mlir/IR/BuiltinTypes.h"

namespace treadle::tfg {

/// Returns the shape of a type; unknown rank if it isn't a ranked tensor.
Shape shapeOf(mlir::Type type);

/// Returns the tensor type with the shape.
mlir::TensorType tensorOf(const Shape &shape, mlir::Type elementType);

} // namespace treadle::tfg
