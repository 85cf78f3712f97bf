#include "treadle/import/bytecode/Cursor.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace treadle;
using namespace treadle::bytecode;

/// The padding byte.
static constexpr uint8_t filler = 0xCB;

Expected<uint8_t> Cursor::byte() {
  if (empty())
    return Unexpected(damaged("the section ends, expected another byte"));
  return static_cast<uint8_t>(part[at++]);
}

/// The number of trailing zeros of the first byte is the number of bytes that follow.
Expected<uint64_t> Cursor::varint() {
  constexpr unsigned wholeWord = 8;
  uint64_t first = TREADLE_TRY(byte());
  unsigned more = first == 0 ? wholeWord : llvm::countr_zero(static_cast<uint8_t>(first));
  StringRef tail = TREADLE_TRY(bytes(more));
  uint64_t value = more == wholeWord ? 0 : first;
  unsigned shift = more == wholeWord ? 0 : 8;
  for (unsigned i = 0; i < more; ++i)
    value |= uint64_t{static_cast<uint8_t>(tail[i])} << (shift + 8 * i);
  return more == wholeWord ? value : value >> (more + 1);
}

Expected<int64_t> Cursor::signedVarint() {
  uint64_t value = TREADLE_TRY(varint());
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

Expected<std::pair<uint64_t, bool>> Cursor::flagged() {
  uint64_t value = TREADLE_TRY(varint());
  return std::pair(value >> 1, (value & 1) != 0);
}

Expected<size_t> Cursor::count() {
  uint64_t value = TREADLE_TRY(varint());
  if (value > rest())
    return Unexpected(damaged("a list declares ", value, " entries in ", rest(), " bytes"));
  return value;
}

Expected<APInt> Cursor::integer(unsigned bits) {
  int64_t value = bits <= 8 ? int64_t{TREADLE_TRY(byte())} : TREADLE_TRY(signedVarint());
  return APInt(bits, static_cast<uint64_t>(value), /*isSigned=*/true, /*implicitTrunc=*/true);
}

static Error indexOutOfRange(const Cursor &at, uint64_t index, size_t size, StringRef what) {
  return at.damaged(what.str(), " ", index, " is out of range, expected less than ", size);
}

Expected<size_t> Cursor::index(size_t size, StringRef what) {
  uint64_t value = TREADLE_TRY(varint());
  if (value >= size)
    return Unexpected(indexOutOfRange(*this, value, size, what));
  return value;
}

Expected<std::optional<size_t>> Cursor::optionalIndex(size_t size, StringRef what) {
  auto [value, isThere] = TREADLE_TRY(flagged());
  if (!isThere)
    return std::nullopt;
  if (value >= size)
    return Unexpected(indexOutOfRange(*this, value, size, what));
  return value;
}

Expected<StringRef> Cursor::bytes(uint64_t size) {
  if (size > rest())
    return Unexpected(damaged("expected ", size, " bytes, but ", rest(), " are left"));
  StringRef found = part.substr(at, size);
  at += size;
  return found;
}

Expected<Cursor> Cursor::take(uint64_t size) {
  size_t begin = position();
  return Cursor(TREADLE_TRY(bytes(size)), begin);
}

Expected<StringRef> Cursor::text() {
  size_t end = part.find('\0', at);
  if (end == StringRef::npos)
    return Unexpected(damaged("a string isn't terminated"));
  StringRef found = part.slice(at, end);
  at = end + 1;
  return found;
}

Expected<void> Cursor::align(uint64_t alignment) {
  constexpr uint64_t largest = 1 << 20;
  if (!llvm::isPowerOf2_64(alignment) || alignment > largest)
    return Unexpected(damaged("an alignment of ", alignment, " bytes"));
  while (position() % alignment != 0)
    if (TREADLE_TRY(byte()) != filler)
      return Unexpected(
          damaged("the padding to a multiple of ", alignment, " bytes contains other bytes"));
  return {};
}
