// How deep MLIR text nests: its parser, and much that works on what it gives, calls itself for each
// level.
#pragma once

#include "treadle/tensor/Error.h"

#include <string_view>

namespace treadle {

/// InvalidArgument, with the line, for text that nests deeper than programs do: brackets in
/// brackets, aliases of attributes and types in other aliases, operators of an affine map. So also
/// for aliases that stand for far more text than there is.
Expected<void> checkMlirNesting(std::string_view text);

} // namespace treadle
