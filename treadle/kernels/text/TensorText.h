// Tensors as text, as TensorFlow's printing ops write them.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// The fewest of 6 or 9 (float) and 15 or 17 (double) digits that read back as the same number.
std::string numberText(float value);
std::string numberText(double value);

/// The text with everything that is no printable ASCII escaped as in C.
std::string escaped(std::string_view text);

/// `[[1 2 ... 9]\n [3 4 ... 8]]`: nested, with `limit` elements at either end of each dimension,
/// and strings in quotes. A negative limit means all. As PrintV2 and StringFormat write it.
std::string nestedText(const Tensor &tensor, int64_t limit);

/// `[1 2 3][4...]...`: the first `limit` elements, without brackets around the whole. A negative
/// limit means all. As Print and Assert write it.
std::string flatText(const Tensor &tensor, int64_t limit);

} // namespace treadle
