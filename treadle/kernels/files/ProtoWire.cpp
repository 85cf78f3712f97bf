#include "treadle/kernels/files/ProtoWire.h"

#include "treadle/checkpoint/Wire.h"

namespace treadle {
namespace {

bool takeVarint(std::string_view &rest, uint64_t &value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

template <typename T> bool takeFixed(std::string_view &rest, uint64_t &value) {
  if (rest.size() < sizeof(T))
    return false;
  value = fixedAt<T>(rest, 0);
  rest.remove_prefix(sizeof(T));
  return true;
}

bool takeBytes(std::string_view &rest, std::string_view &bytes) {
  uint64_t size = 0;
  if (!takeVarint(rest, size) || size > rest.size())
    return false;
  bytes = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

bool takeValue(std::string_view &rest, ProtoValue &value, int depth);

/// Up to the tag that ends the group.
bool skipGroup(std::string_view &rest, uint64_t field, int depth) {
  for (ProtoValue inner; takeValue(rest, inner, depth + 1);)
    if (inner.wire == ProtoWire::GroupEnd)
      return inner.field == field;
  return false;
}

bool takeValue(std::string_view &rest, ProtoValue &value, int depth) {
  constexpr int mostNested = 100;
  std::string_view before = rest;
  uint64_t tag = 0;
  if (depth > mostNested || !takeVarint(rest, tag) || tag >> 3 == 0)
    return false;
  value = {tag >> 3, static_cast<ProtoWire>(tag & 7), 0, {}};
  switch (value.wire) {
  case ProtoWire::Bytes:
    return takeBytes(rest, value.bytes);
  case ProtoWire::GroupBegin:
    if (!skipGroup(rest, value.field, depth))
      return false;
    value.bytes = before.substr(0, before.size() - rest.size());
    return true;
  case ProtoWire::GroupEnd:
    return depth > 0;
  default:
    return takeProtoNumber(rest, value.wire, value.number);
  }
}

} // namespace

bool takeProtoNumber(std::string_view &rest, ProtoWire wire, uint64_t &number) {
  switch (wire) {
  case ProtoWire::Varint:
    return takeVarint(rest, number);
  case ProtoWire::Fixed64:
    return takeFixed<uint64_t>(rest, number);
  case ProtoWire::Fixed32:
    return takeFixed<uint32_t>(rest, number);
  default:
    return false;
  }
}

bool takeProtoValue(std::string_view &rest, ProtoValue &value) { return takeValue(rest, value, 0); }

} // namespace treadle
