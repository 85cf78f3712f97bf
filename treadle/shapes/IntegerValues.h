// Constant evaluation of the small integer tensors that compute shapes.
#pragma once

#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {

using Integers = std::optional<Shape::Dims>;

struct IntegerEntry {
  std::string_view op;
  Integers (*function)(const ShapeQuery &);
};

/// Elementwise ops and reductions.
std::span<const IntegerEntry> integerArithmetic();
/// Ops that move or combine elements.
std::span<const IntegerEntry> integerMoves();

} // namespace treadle
