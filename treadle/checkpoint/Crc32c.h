// CRC-32C (Castagnoli), the checksum of checkpoints and of the tables that index them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace treadle {

/// Returns the checksum of some bytes followed by `bytes`; `crc` is that of the former.
uint32_t extendCrc32c(uint32_t crc, const void *bytes, size_t size);

inline uint32_t crc32c(std::string_view bytes) {
  return extendCrc32c(0, bytes.data(), bytes.size());
}

/// Masks a checksum for storage, as the checksum of data that contains its own checksums is weak.
inline uint32_t maskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

} // namespace treadle
