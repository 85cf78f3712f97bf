// Text of JSON.
#pragma once

#include <string>
#include <string_view>

namespace treadle {

/// A JSON string literal.
std::string jsonText(std::string_view text);

} // namespace treadle
