// Internal to the collective folder: digests that ranks compare instead of long texts.
#pragma once

#include <cstdint>
#include <string_view>

namespace treadle {

/// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), the same on all ranks.
inline uint64_t digestOf(std::string_view text) {
  uint64_t digest = 0xcbf29ce484222325;
  for (unsigned char byte : text)
    digest = (digest ^ byte) * 0x100000001b3;
  return digest;
}

} // namespace treadle
