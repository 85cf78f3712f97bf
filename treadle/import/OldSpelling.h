// Converts MLIR text from before 2022: `func @f`, and operations of the std dialect.
#pragma once

#include <string>
#include <string_view>

namespace treadle {

/// Returns the text with the current names for `func`, `br`, `cond_br` and other ops that were
/// written with `std.` or without a dialect. Line breaks and other text are preserved.
std::string withCurrentSpelling(std::string_view text);

} // namespace treadle
