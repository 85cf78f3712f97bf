// Eight bytes an instruction where the processor has one for it, else a table of eight.
//
// The instruction answers after three cycles, so three streams are read side by side; the checksums
// are joined by moving the earlier ones past the bytes of the later, which is a product of matrices
// over one bit, kept as tables.
#include "treadle/checkpoint/Crc32c.h"

#include <array>
#include <cstring>

namespace treadle {
namespace {

constexpr uint32_t polynomial = 0x82f63b78; // bits reversed

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (size_t t = 1; t < 8; ++t)
      tables[t][byte] = (tables[t - 1][byte] >> 8) ^ tables[0][tables[t - 1][byte] & 0xff];
  return tables;
}

constexpr Tables tables = makeTables();

uint64_t load(const unsigned char *at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// `crc` inverted, as the loops keep it.
uint32_t extendByTable(uint32_t crc, const unsigned char *at, size_t size) {
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word = load(at) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i)
      crc ^= tables[7 - i][word >> (8 * i) & 0xff];
  }
  for (; size; ++at, --size)
    crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
  return crc;
}

#ifdef __x86_64__

constexpr size_t streamBytes = 4096;

/// What `streamBytes` zeros make of a checksum, by its bytes.
using Shift = std::array<std::array<uint32_t, 256>, 4>;

Shift makeShift() {
  static const unsigned char zeros[streamBytes] = {};
  std::array<uint32_t, 32> ofBit{};
  for (size_t bit = 0; bit < 32; ++bit)
    ofBit[bit] = extendByTable(uint32_t{1} << bit, zeros, streamBytes);
  Shift shift{};
  for (size_t byte = 0; byte < 4; ++byte)
    for (size_t value = 0; value < 256; ++value)
      for (size_t bit = 0; bit < 8; ++bit)
        shift[byte][value] ^= value >> bit & 1 ? ofBit[8 * byte + bit] : 0;
  return shift;
}

uint32_t shifted(const Shift &shift, uint64_t crc) {
  return shift[0][crc & 0xff] ^ shift[1][crc >> 8 & 0xff] ^ shift[2][crc >> 16 & 0xff] ^
         shift[3][crc >> 24 & 0xff];
}

__attribute__((target("sse4.2"))) uint32_t extendByInstruction(uint32_t start,
                                                               const unsigned char *at,
                                                               size_t size) {
  uint64_t crc = start;
  if (size >= 3 * streamBytes) {
    static const Shift shift = makeShift();
    for (; size >= 3 * streamBytes; at += 3 * streamBytes, size -= 3 * streamBytes) {
      uint64_t second = 0, third = 0;
      for (size_t i = 0; i < streamBytes; i += 8) {
        crc = __builtin_ia32_crc32di(crc, load(at + i));
        second = __builtin_ia32_crc32di(second, load(at + streamBytes + i));
        third = __builtin_ia32_crc32di(third, load(at + 2 * streamBytes + i));
      }
      crc = shifted(shift, shifted(shift, crc) ^ second) ^ third;
    }
  }
  for (; size >= 8; at += 8, size -= 8)
    crc = __builtin_ia32_crc32di(crc, load(at));
  for (; size; ++at, --size)
    crc = __builtin_ia32_crc32qi(static_cast<uint32_t>(crc), *at);
  return static_cast<uint32_t>(crc);
}

#endif

} // namespace

uint32_t extendCrc32c(uint32_t crc, const void *bytes, size_t size) {
  const auto *at = static_cast<const unsigned char *>(bytes);
#ifdef __x86_64__
  static const bool hasInstruction = __builtin_cpu_supports("sse4.2");
  if (hasInstruction)
    return ~extendByInstruction(~crc, at, size);
#endif
  return ~extendByTable(~crc, at, size);
}

} // namespace treadle
