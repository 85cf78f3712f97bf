// Formatting of tensors, as TensorFlow's printing ops do.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// Formats with the fewest of 6 or 9 (float), or 15 or 17 (double), digits that round-trip.
std::string numberText(float value);
std::string numberText(double value);

/// Escapes all but printable ASCII as in C.
std::string escaped(std::string_view text);

/// Formats nested brackets, one row a line, with strings in quotes: `[[1 2 ... 9]`, ` [3 4 ...
/// 8]]`. Shows `limit` elements at either end of each dimension, or all if negative. Used by
/// PrintV2 and StringFormat.
std::string nestedText(const Tensor &tensor, int64_t limit);

/// Formats the first `limit` elements, or all if negative, without outer brackets: `[1 2
/// 3][4...]...`. Used by Print and Assert.
std::string flatText(const Tensor &tensor, int64_t limit);

} // namespace treadle
