// Shapes as types of the IR hold them.
#pragma once

#include "treadle/shapes/Shape.h"

#include "mlir/IR/BuiltinTypes.h"

namespace treadle::tfg {

/// Of unknown rank for what isn't a ranked tensor.
Shape shapeOf(mlir::Type type);

/// The tensor type of a shape.
mlir::TensorType tensorOf(const Shape &shape, mlir::Type elementType);

} // namespace treadle::tfg
