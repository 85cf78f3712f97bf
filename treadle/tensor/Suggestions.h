// Suggestions for mistyped names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace treadle {

/// Returns ` (did you mean 'a' or 'b'?)` with up to three candidates at the smallest edit distance
/// from `name`, or an empty string if none is within 2 edits (in long names, one edit for each 3
/// characters). A missing or extra scope counts as close, and so does a missing part before or
/// after `_`.
std::string didYouMean(std::string_view name, std::span<const std::string_view> candidates);

} // namespace treadle
