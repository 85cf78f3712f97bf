// The integers of checkpoint files, and protocol buffers' wire format over them.
//
// By hand, since a checkpoint is read and written by kernels, and the runtime knows no protobuf.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace treadle {

inline void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

template <typename T> void putFixed(std::string &out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

template <typename T> T fixedAt(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// Fields of a message; those with the value 0 are left out, as proto3 does.
inline void putTag(std::string &out, uint32_t field, WireType type) {
  putVarint(out, field << 3 | static_cast<uint32_t>(type));
}
inline void putNumber(std::string &out, uint32_t field, uint64_t value) {
  if (!value)
    return;
  putTag(out, field, WireType::Varint);
  putVarint(out, value);
}
inline void putBytes(std::string &out, uint32_t field, std::string_view bytes) {
  putTag(out, field, WireType::Bytes);
  putVarint(out, bytes.size());
  out += bytes;
}

/// Takes values off the front of some bytes; once one is missing or malformed, `isGood` is false
/// and all that follow are zero or empty.
class WireReader {
public:
  explicit WireReader(std::string_view bytes) : rest(bytes) {}

  bool isGood() const { return good; }
  bool isAtEnd() const { return rest.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80)
        return value;
    }
    return fail(), 0;
  }
  std::string_view bytes(uint64_t size) {
    if (size > rest.size())
      return fail(), std::string_view();
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  template <typename T> T fixed() {
    std::string_view taken = bytes(sizeof(T));
    return taken.empty() ? T() : fixedAt<T>(taken, 0);
  }

  /// The next field of a message; false at its end, and where it makes no sense.
  struct Field {
    uint32_t number = 0;
    uint64_t value = 0;     // of numbers, 32-bit and 64-bit ones included
    std::string_view bytes; // of the rest
  };
  bool next(Field &field) {
    if (rest.empty() || !good)
      return false;
    uint64_t tag = varint();
    field = {static_cast<uint32_t>(tag >> 3), 0, {}};
    switch (static_cast<WireType>(tag & 7)) {
    case WireType::Varint:
      field.value = varint();
      break;
    case WireType::Fixed64:
      field.value = fixed<uint64_t>();
      break;
    case WireType::Bytes:
      field.bytes = bytes(varint());
      break;
    case WireType::Fixed32:
      field.value = fixed<uint32_t>();
      break;
    default:
      fail();
    }
    return good;
  }

protected:
  void fail() {
    good = false;
    rest = {};
  }

private:
  std::string_view rest;
  bool good = true;
};

/// Calls `visit(field)` for each field of a message; false if the message or the visitor is not
/// good.
template <typename Visit> bool forEachField(std::string_view message, Visit visit) {
  WireReader reader(message);
  for (WireReader::Field field; reader.next(field);)
    if (!visit(field))
      return false;
  return reader.isGood();
}

} // namespace treadle
