// Shape inference for nodes of the IR.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle::tfg {

/// Infers the shapes of a node's results from its inputs.
ShapeResults shapesOf(Node node, llvm::ArrayRef<const KnownValue *> inputs);

} // namespace treadle::tfg
