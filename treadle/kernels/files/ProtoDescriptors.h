// Descriptions of the messages in a FileDescriptorSet, for ops that read and write protobuf
// messages. Parsed by hand, since the runtime doesn't link protobuf.
#pragma once

#include "treadle/tensor/Error.h"
#include "treadle/tensor/Wire.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// Values of FieldDescriptorProto.Type.
enum class ProtoType : uint8_t {
  Double = 1,
  Float,
  Int64,
  UInt64,
  Int32,
  Fixed64,
  Fixed32,
  Bool,
  String,
  Group,
  Message,
  Bytes,
  UInt32,
  Enum,
  SFixed32,
  SFixed64,
  SInt32,
  SInt64,
};

WireType wireTypeOf(ProtoType type);

struct ProtoField {
  std::string name;
  uint64_t number = 0;
  ProtoType type = ProtoType::Int32;
  bool isRepeated = false, isPacked = false;
  std::string typeName;    // of an enum, as it is found in the set
  std::string defaultText; // as in the file; empty: none
};

struct ProtoMessage {
  std::string name; // with its package, without a leading dot
  std::vector<ProtoField> fields;

  const ProtoField *find(std::string_view field) const;
};

/// Names and numbers of an enum, in definition order.
using ProtoEnum = std::vector<std::pair<std::string, int32_t>>;

struct ProtoDescriptors {
  std::map<std::string, ProtoMessage, std::less<>> messages;
  std::map<std::string, ProtoEnum, std::less<>> enums;

  /// Parses a serialized FileDescriptorSet; returns nullopt if it is malformed.
  static std::optional<ProtoDescriptors> parse(std::string_view set);
};

} // namespace treadle
