// Numbers read from text, as TensorFlow reads them.
#pragma once

#include <string_view>

namespace treadle {

/// The number that all of `text`, blanks around it aside, stands for; false if it is none. Integers
/// are decimal and must fit; floats may also be hexadecimal, `inf` or `nan`. T: float, double,
/// int32_t, int64_t, uint32_t or uint64_t.
template <typename T> bool parseNumber(std::string_view text, T &value);

} // namespace treadle
