// Parsing of numbers, with TensorFlow's syntax.
#pragma once

#include <string_view>

namespace treadle {

/// Parses all of `text`, ignoring blanks around it; returns false if it isn't a valid number.
/// Integers are decimal and must fit; floats may also be hexadecimal, `inf` or `nan`. T: float,
/// double, int32_t, int64_t, uint32_t or uint64_t.
template <typename T> bool parseNumber(std::string_view text, T &value);

} // namespace treadle
