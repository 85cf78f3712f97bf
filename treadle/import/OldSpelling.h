// MLIR's own text as it was until 2022: `func @f`, and the operations of the dialect std.
#pragma once

#include <string>
#include <string_view>

namespace treadle {

/// The text with today's names for `func`, `br`, `cond_br` and what else was written without its
/// dialect or with `std.`. Lines stay; other text stays as it is.
std::string withTodaysSpelling(std::string_view text);

} // namespace treadle
