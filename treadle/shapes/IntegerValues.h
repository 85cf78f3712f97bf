// How the small integer tensors that say shapes follow from those of the inputs.
#pragma once

#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {

using Integers = std::optional<Shape::Dims>;

struct IntegerEntry {
  std::string_view op;
  Integers (*function)(const ShapeQuery &);
};

/// Values element by element, and reductions.
std::span<const IntegerEntry> integerArithmetic();
/// Values taken from others, put together or moved.
std::span<const IntegerEntry> integerMoves();

} // namespace treadle
