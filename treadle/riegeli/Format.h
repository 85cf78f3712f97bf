// Where things stand in a Riegeli file: blocks of 64 KiB, each with a header that interrupts
// whatever it falls into, and chunks of records.
//
//   block header: hash, distance back to the beginning of the chunk, distance on to its end
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

/// The position after `size` bytes of a chunk from `position` on, block headers skipped.
constexpr uint64_t advance(uint64_t position, uint64_t size) {
  if (size == 0)
    return position;
  if (position % blockSize < blockHeaderSize)
    position += blockHeaderSize - position % blockSize;
  constexpr uint64_t usable = blockSize - blockHeaderSize;
  // The last byte's block decides how many headers lie before it.
  uint64_t inBlock = position % blockSize - blockHeaderSize;
  uint64_t numHeaders = (inBlock + size - 1) / usable;
  return position + size + numHeaders * blockHeaderSize;
}

} // namespace treadle::riegeli
