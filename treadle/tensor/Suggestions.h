// What somebody who mistyped a name may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace treadle {

/// ` (did you mean 'a' or 'b'?)`: the candidates that are the fewest edits away from `name`, three
/// of them at most. Nothing if none is near: within 2 edits, or one for each 3 characters of a long
/// name. A name without its scope, or with one too many, is as near as that, and so is one of
/// which a part before or after `_` is missing.
std::string didYouMean(std::string_view name, std::span<const std::string_view> candidates);

} // namespace treadle
