// By ISA-L, which takes the widest instructions that the processor has. Its function counts bytes
// in an int, and keeps the checksum inverted.
#include "treadle/checkpoint/Crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace treadle {

uint32_t extendCrc32c(uint32_t crc, const void *bytes, size_t size) {
  constexpr size_t most = size_t{1} << 30;
  auto *at = static_cast<unsigned char *>(const_cast<void *>(bytes)); // it only reads
  crc = ~crc;
  while (size) {
    size_t part = std::min(size, most);
    crc = crc32_iscsi(at, static_cast<int>(part), crc);
    at += part, size -= part;
  }
  return ~crc;
}

} // namespace treadle
