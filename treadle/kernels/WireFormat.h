// Protocol buffers' wire format, for the few messages that ops read and write themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace treadle::wire {

/// How a field is encoded: the low three bits of its tag.
enum Type : uint64_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

inline void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline void putNumber(std::string &out, uint64_t field, uint64_t value) {
  putVarint(out, field << 3 | Varint);
  putVarint(out, value);
}

inline void putBytes(std::string &out, uint64_t field, std::string_view bytes) {
  putVarint(out, field << 3 | Bytes);
  putVarint(out, bytes.size());
  out += bytes;
}

/// Reads from bytes that outlive it; after the first bad read it is at the end, and not good.
class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}
  bool isAtEnd() const { return rest.empty(); }
  bool isGood() const { return good; }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest.empty())
        break;
      auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80)
        return value;
    }
    fail();
    return 0;
  }
  std::string_view bytes(uint64_t size) {
    if (size > rest.size()) {
      fail();
      return {};
    }
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
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
  void fail() {
    good = false;
    rest = {};
  }

private:
  std::string_view rest;
  bool good = true;
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
