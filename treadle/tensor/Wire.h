// Protocol buffers' wire format, and the integers of file formats that share its encodings.
//
// Written by hand, since kernels read and write checkpoints and messages, and the runtime doesn't
// link protobuf.
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

/// How a field is encoded: the low three bits of its tag.
enum class WireType : uint8_t { Varint, Fixed64, Bytes, GroupBegin, GroupEnd, Fixed32 };

inline void putTag(std::string &out, uint64_t field, WireType type) {
  putVarint(out, field << 3 | static_cast<uint64_t>(type));
}
/// Writes a field even if its value is 0.
inline void putNumberAlways(std::string &out, uint64_t field, uint64_t value) {
  putTag(out, field, WireType::Varint);
  putVarint(out, value);
}
/// Writes a field, or nothing if its value is 0, as proto3 does.
inline void putNumber(std::string &out, uint64_t field, uint64_t value) {
  if (value)
    putNumberAlways(out, field, value);
}
inline void putBytes(std::string &out, uint64_t field, std::string_view bytes) {
  putTag(out, field, WireType::Bytes);
  putVarint(out, bytes.size());
  out += bytes;
}

/// Reads values from the front of some bytes. Once one is missing or malformed, `isGood` is false
/// and all further values are zero or empty.
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
  /// Reads a number of this wire type.
  uint64_t number(WireType type) {
    if (type == WireType::Fixed64)
      return fixed<uint64_t>();
    if (type == WireType::Fixed32)
      return fixed<uint32_t>();
    return type == WireType::Varint ? varint() : (fail(), 0);
  }
  /// The bytes not read yet.
  std::string_view left() const { return rest; }

  struct Field {
    uint64_t number = 0;
    WireType type = WireType::Varint;
    uint64_t value = 0;     // the value of a varint, fixed32 or fixed64 field
    std::string_view bytes; // the contents of a length-delimited field or group

    bool isVarint() const { return type == WireType::Varint; }
    bool isBytes() const { return type == WireType::Bytes; }
  };
  /// Reads the next field of a message. Returns false at its end, and for malformed bytes and
  /// groups.
  bool next(Field &field) { return take(field) && (!isGroup(field) || fail()); }
  /// Reads the next field as `next` does, but also accepts groups: `bytes` is then the whole group
  /// with its begin and end tags.
  bool nextOrGroup(Field &field, int depth = 0) {
    constexpr int maxNested = 100;
    std::string_view before = rest;
    if (depth > maxNested || !take(field) || field.number == 0)
      return fail();
    if (field.type == WireType::GroupEnd)
      return depth > 0 || fail();
    if (field.type != WireType::GroupBegin)
      return true;
    Field inner;
    do
      if (!nextOrGroup(inner, depth + 1))
        return false;
    while (inner.type != WireType::GroupEnd);
    field.bytes = before.substr(0, before.size() - rest.size());
    return inner.number == field.number || fail();
  }

private:
  static bool isGroup(const Field &field) {
    return field.type == WireType::GroupBegin || field.type == WireType::GroupEnd;
  }
  bool take(Field &field) {
    if (rest.empty())
      return false;
    uint64_t tag = varint();
    field = {tag >> 3, static_cast<WireType>(tag & 7), 0, {}};
    if (field.isBytes())
      field.bytes = bytes(varint());
    else if (!isGroup(field))
      field.value = number(field.type);
    return good;
  }
  bool fail() {
    good = false;
    rest = {};
    return false;
  }

  std::string_view rest;
  bool good = true;
};

/// Calls `add(number)` for each number of a repeated field, packed or not. Returns false if the
/// field has another wire type.
template <typename Add> bool forEachNumber(const WireReader::Field &field, WireType type, Add add) {
  if (field.type == type)
    return add(field.value), true;
  if (!field.isBytes())
    return false;
  WireReader packed(field.bytes);
  while (!packed.isAtEnd())
    add(packed.number(type));
  return packed.isGood();
}

/// Calls `visit(field)` for each field of a message. Returns false if the message is malformed or a
/// visit returns false.
template <typename Visit> bool forEachField(std::string_view message, Visit visit) {
  WireReader reader(message);
  for (WireReader::Field field; reader.next(field);)
    if (!visit(field))
      return false;
  return reader.isGood();
}

} // namespace treadle
