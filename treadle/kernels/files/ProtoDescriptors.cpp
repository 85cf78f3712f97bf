#include "treadle/kernels/files/ProtoDescriptors.h"

#include <algorithm>

namespace treadle {
namespace {

using Field = WireReader::Field;

/// Reads the messages of a file, including nested ones. Field numbers are those in
/// descriptor.proto.
class FileReader {
public:
  FileReader(ProtoDescriptors &out, std::string_view file) : out(out), file(file) {}

  bool read() {
    std::string package, syntax = "proto2";
    bool isGood = forEachField(file, [&](const Field &field) {
      if (field.number == 2)
        package = field.bytes;
      if (field.number == 12)
        syntax = field.bytes;
      return true;
    });
    packsByDefault = syntax != "proto2";
    return isGood && forEachField(file, [&](const Field &field) {
             if (field.number == 4)
               return readMessage(field.bytes, package, 0);
             return field.number != 5 || readEnum(field.bytes, package);
           });
  }

private:
  static std::string nameOf(std::string_view message, const std::string &scope) {
    std::string name;
    forEachField(message, [&](const Field &field) {
      if (field.number == 1)
        name = field.bytes;
      return true;
    });
    return scope.empty() ? name : scope + "." + name;
  }

  bool readMessage(std::string_view bytes, const std::string &scope, int depth) {
    constexpr int maxNested = 100;
    if (depth > maxNested)
      return false;
    ProtoMessage message{nameOf(bytes, scope), {}};
    bool isGood = forEachField(bytes, [&](const Field &field) {
      if (field.number == 2)
        return readField(field.bytes, message);
      if (field.number == 3)
        return readMessage(field.bytes, message.name, depth + 1);
      return field.number != 4 || readEnum(field.bytes, message.name);
    });
    out.messages[message.name] = std::move(message);
    return isGood;
  }

  bool readField(std::string_view bytes, ProtoMessage &message) const {
    ProtoField made;
    std::optional<bool> isPacked;
    bool isGood = forEachField(bytes, [&](const Field &field) {
      constexpr uint64_t repeated = 3;
      switch (field.number) {
      case 1:
        made.name = field.bytes;
        break;
      case 3:
        made.number = field.value;
        break;
      case 4:
        made.isRepeated = field.value == repeated;
        break;
      case 5:
        made.type = static_cast<ProtoType>(field.value);
        return field.value >= 1 && field.value <= static_cast<uint64_t>(ProtoType::SInt64);
      case 6:
        made.typeName = field.bytes.substr(field.bytes.starts_with('.') ? 1 : 0);
        break;
      case 7:
        made.defaultText = field.bytes;
        break;
      case 8:
        return forEachField(field.bytes, [&](const Field &option) {
          if (option.number == 2)
            isPacked = option.value != 0;
          return true;
        });
      default:
        break;
      }
      return true;
    });
    WireType wire = wireTypeOf(made.type);
    bool canBePacked = wire != WireType::Bytes && wire != WireType::GroupBegin;
    made.isPacked = made.isRepeated && canBePacked && isPacked.value_or(packsByDefault);
    message.fields.push_back(std::move(made));
    return isGood;
  }

  bool readEnum(std::string_view bytes, const std::string &scope) {
    ProtoEnum values;
    bool isGood = forEachField(bytes, [&](const Field &field) {
      if (field.number != 2)
        return true;
      values.emplace_back();
      return forEachField(field.bytes, [&](const Field &part) {
        if (part.number == 1)
          values.back().first = part.bytes;
        if (part.number == 2)
          values.back().second = static_cast<int32_t>(part.value);
        return true;
      });
    });
    out.enums[nameOf(bytes, scope)] = std::move(values);
    return isGood;
  }

  ProtoDescriptors &out;
  std::string_view file;
  bool packsByDefault = false;
};

} // namespace

WireType wireTypeOf(ProtoType type) {
  switch (type) {
  case ProtoType::Double:
  case ProtoType::Fixed64:
  case ProtoType::SFixed64:
    return WireType::Fixed64;
  case ProtoType::Float:
  case ProtoType::Fixed32:
  case ProtoType::SFixed32:
    return WireType::Fixed32;
  case ProtoType::String:
  case ProtoType::Message:
  case ProtoType::Bytes:
    return WireType::Bytes;
  case ProtoType::Group:
    return WireType::GroupBegin;
  default:
    return WireType::Varint;
  }
}

const ProtoField *ProtoMessage::find(std::string_view field) const {
  auto found = std::ranges::find(fields, field, &ProtoField::name);
  return found == fields.end() ? nullptr : &*found;
}

std::optional<ProtoDescriptors> ProtoDescriptors::parse(std::string_view set) {
  ProtoDescriptors out;
  bool isGood = forEachField(set, [&](const Field &field) {
    return field.number != 1 || FileReader(out, field.bytes).read();
  });
  return isGood ? std::optional(std::move(out)) : std::nullopt;
}

} // namespace treadle
