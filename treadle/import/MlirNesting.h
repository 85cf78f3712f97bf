// Limits the nesting depth of MLIR text: its parser, and much code that works on its result, is
// recursive.
#pragma once

#include "treadle/tensor/Error.h"

#include <string_view>

namespace treadle {

/// InvalidArgument, with the line, for text that nests deeper than real programs: brackets, aliases
/// of attributes and types in other aliases, operators of an affine map. Also for aliases that
/// expand to far more text than the file has.
Expected<void> checkMlirNesting(std::string_view text);

} // namespace treadle
