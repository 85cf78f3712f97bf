// The fields of a message one by one, groups included.
#pragma once

#include "treadle/kernels/files/ProtoDescriptors.h"

#include <string_view>

namespace treadle {

/// A field as it is encoded.
struct ProtoValue {
  uint64_t field = 0;
  ProtoWire wire = ProtoWire::Varint;
  uint64_t number = 0;    // of numbers, those of fixed size included
  std::string_view bytes; // of bytes; of a group, all of it with the tags at its ends
};

/// Takes the next field off the front; false where there is none that makes sense.
bool takeProtoValue(std::string_view &rest, ProtoValue &value);

/// Takes a number off the front that is encoded in this way.
bool takeProtoNumber(std::string_view &rest, ProtoWire wire, uint64_t &number);

} // namespace treadle
