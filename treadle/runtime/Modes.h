// How sessions run graphs, where users choose.
#pragma once

#include "treadle/tensor/Error.h"

#include <string_view>

namespace treadle {

/// What becomes machine code: see SessionOptions::tier.
enum class Tier : uint8_t { Auto, Interpret, Jit };

/// Which loops' iterations overlap: none; those that gain by it; all that may.
enum class LoopOverlap : uint8_t { Off, Auto, On };

/// By the words that users write. InvalidArgument, with those words, for others.
Expected<Tier> parseTier(std::string_view text);
Expected<LoopOverlap> parseLoopOverlap(std::string_view text);

} // namespace treadle
