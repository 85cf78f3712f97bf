// Splits serialized messages into fields before parsing.
#pragma once

#include "treadle/import/TextForm.h"
#include "treadle/tensor/Error.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::graphdef {

/// The fields of a message, split by field number: `taken` holds the payloads of the fields with
/// the given number, `rest` the bytes of all other fields.
struct WireFields {
  std::vector<std::string_view> taken;
  std::string rest;
};

/// InvalidArgument, with the position, for corrupted or truncated bytes.
inline Expected<WireFields> splitFields(std::string_view bytes, int number) {
  using google::protobuf::internal::WireFormatLite;
  const uint32_t taken = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  if (bytes.size() > INT32_MAX)
    return Unexpected(invalidArgument("the bytes exceed 2 GiB, the limit of protobuf messages"));
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t *>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  input.SetRecursionLimit(maxDepth);
  WireFields fields;
  while (true) {
    int begin = input.CurrentPosition();
    uint32_t tag = input.ReadTag();
    if (tag == 0)
      break;
    uint32_t length = 0;
    bool isTaken = tag == taken;
    bool isRead = isTaken ? input.ReadVarint32(&length) : WireFormatLite::SkipField(&input, tag);
    int at = input.CurrentPosition();
    if (isTaken) {
      isRead = isRead && length <= bytes.size() - at && input.Skip(static_cast<int>(length));
      fields.taken.push_back(bytes.substr(at, length));
    } else if (isRead) {
      fields.rest.append(bytes.substr(begin, at - begin));
    }
    if (!isRead)
      return Unexpected(invalidArgument("the field at byte ", begin, " is truncated or corrupted"));
  }
  if (!input.ConsumedEntireMessage())
    return Unexpected(invalidArgument("there is no field at byte ", input.CurrentPosition()));
  return fields;
}

} // namespace treadle::graphdef
