// Converts bools in the hexadecimal form of MLIR text: newer versions of MLIR write a byte for
// each, but this version expects bits.
#pragma once

#include <string>
#include <string_view>

namespace treadle {

/// Returns the text with `dense<"0x0001..."> : tensor<...xi1>` packed from bytes into bits.
std::string withPackedBools(std::string_view text);

} // namespace treadle
