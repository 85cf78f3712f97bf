// Execution modes that users choose for a session.
#pragma once

#include "treadle/tensor/Error.h"

#include <string_view>

namespace treadle {

/// Execution tiers; see SessionOptions::tier.
enum class Tier : uint8_t { Auto, Interpret, Jit };

/// Loops whose iterations overlap: none, those that benefit, or all that may.
enum class LoopOverlap : uint8_t { Off, Auto, On };

/// Parses the value of an option. Returns InvalidArgument, listing the accepted values, for others.
Expected<Tier> parseTier(std::string_view text);
Expected<LoopOverlap> parseLoopOverlap(std::string_view text);

} // namespace treadle
