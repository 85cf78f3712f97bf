// Shape functions asked about nodes of the IR.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle::tfg {

/// What follows for the results of a node from what is known of its inputs.
ShapeResults shapesOf(Node node, llvm::ArrayRef<const KnownValue *> inputs);

} // namespace treadle::tfg
