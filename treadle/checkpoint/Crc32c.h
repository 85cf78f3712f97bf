// CRC-32C (Castagnoli), the checksum of checkpoints and of the tables that index them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace treadle {

/// The checksum of some bytes followed by `bytes`, given that of the first.
uint32_t extendCrc32c(uint32_t crc, const void *bytes, size_t size);

inline uint32_t crc32c(std::string_view bytes) {
  return extendCrc32c(0, bytes.data(), bytes.size());
}

/// Stored checksums are masked: the checksum of bytes that hold a checksum would mean little.
inline uint32_t maskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

} // namespace treadle
