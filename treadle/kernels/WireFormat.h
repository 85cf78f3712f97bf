// Protocol buffers' wire format, for the few messages that ops read and write themselves.
#pragma once

#include "treadle/checkpoint/Wire.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace treadle::wire {

/// How a field is encoded: the low three bits of its tag.
enum Type : uint64_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

using treadle::putBytes;
using treadle::putVarint;

/// A value of 0 is written too.
inline void putNumber(std::string &out, uint64_t field, uint64_t value) {
  putVarint(out, field << 3 | Varint);
  putVarint(out, value);
}

/// A reader for those who handle each field's type themselves.
class Reader : public WireReader {
public:
  using WireReader::fail;
  using WireReader::WireReader;

  /// Bytes with their length in front.
  std::string_view delimited() { return bytes(varint()); }
  void skip(uint64_t type) {
    if (type == Varint)
      varint();
    else if (type == Bytes)
      delimited();
    else if (type == Fixed32 || type == Fixed64)
      bytes(type == Fixed32 ? 4 : 8);
    else
      fail();
  }
};

/// Calls `visit(field, type, reader)` for each field; the visit reads or skips it. False:
/// malformed.
template <typename Visit> bool readFields(std::string_view bytes, Visit &&visit) {
  Reader reader(bytes);
  while (!reader.isAtEnd()) {
    uint64_t tag = reader.varint();
    visit(tag >> 3, tag & 7, reader);
  }
  return reader.isGood();
}

} // namespace treadle::wire
