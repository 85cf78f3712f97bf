// The layout of a Riegeli file: chunks of records, interrupted by a block header every 64 KiB.
//
//   block header: hash, distance back to the beginning of the chunk, distance to its end
//   chunk header: hash, size of data, hash of data, type and number of records, decoded size
//
// All are little-endian numbers of 8 bytes. A record's position is that of its chunk plus its
// number in it.
#pragma once

#include <cstdint>

namespace treadle::riegeli {

inline constexpr uint64_t blockSize = 1 << 16;
inline constexpr uint64_t blockHeaderSize = 24;
inline constexpr uint64_t chunkHeaderSize = 40;

enum class ChunkType : char {
  Signature = 's',
  Metadata = 'm',
  Padding = 'p',
  Simple = 'r',
  Transposed = 't',
};

enum class Compression : char { None = 0, Brotli = 'b', Zstd = 'z', Snappy = 's' };

/// Returns the position `size` bytes of chunk data after `position`, skipping block headers.
constexpr uint64_t advance(uint64_t position, uint64_t size) {
  if (size == 0)
    return position;
  if (position % blockSize < blockHeaderSize)
    position += blockHeaderSize - position % blockSize;
  constexpr uint64_t usable = blockSize - blockHeaderSize;
  // The block of the last byte determines the number of headers before it.
  uint64_t inBlock = position % blockSize - blockHeaderSize;
  uint64_t numHeaders = (inBlock + size - 1) / usable;
  return position + size + numHeaders * blockHeaderSize;
}

} // namespace treadle::riegeli
