// CRC-32C by ISA-L, which uses the widest instructions of the processor. Its function takes the
// size as an int, and an inverted checksum.
#include "treadle/checkpoint/Crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace treadle {

uint32_t extendCrc32c(uint32_t crc, const void *bytes, size_t size) {
  constexpr size_t most = size_t{1} << 30;
  auto *at = static_cast<unsigned char *>(const_cast<void *>(bytes)); // not written to
  crc = ~crc;
  while (size) {
    size_t part = std::min(size, most);
    crc = crc32_iscsi(at, static_cast<int>(part), crc);
    at += part, size -= part;
  }
  return ~crc;
}

} // namespace treadle
