// How arithmetic treats denormal numbers: those nearer to zero than the smallest normal one.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <string_view>

namespace treadle {

/// Flush: denormal numbers are zero for arithmetic. Keep: as IEEE 754 has them.
enum class Denormals : uint8_t { Flush, Keep };

/// Parses the value of an option. Returns InvalidArgument, listing the accepted values, for others.
Expected<Denormals> parseDenormals(std::string_view text);

} // namespace treadle
