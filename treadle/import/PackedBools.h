// Bools in the hexadecimal form of MLIR text: newer versions of MLIR write a byte for each, the one
// that reads here expects bits.
#pragma once

#include <string>
#include <string_view>

namespace treadle {

/// The text, in which `dense<"0x0001..."> : tensor<...xi1>` of bytes is one of bits.
std::string withPackedBools(std::string_view text);

} // namespace treadle
