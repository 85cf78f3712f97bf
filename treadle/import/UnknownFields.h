// Detects fields that our schemas don't have. A newer TensorFlow wrote them, and they are
// preserved.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

namespace treadle::graphdef {

inline bool hasUnknownFields(const google::protobuf::Message &message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

inline void copyUnknownFields(const google::protobuf::Message &from,
                              google::protobuf::Message &to) {
  if (hasUnknownFields(from))
    to.GetReflection()->MutableUnknownFields(&to)->MergeFrom(
        from.GetReflection()->GetUnknownFields(from));
}

} // namespace treadle::graphdef
