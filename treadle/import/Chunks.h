// Reads messages that TensorFlow's proto splitter split into chunks (.cpb), of any size.
#pragma once

#include "treadle/tensor/Error.h"

#include <google/protobuf/message.h>
#include <string_view>

namespace treadle::graphdef {

/// Merges the chunks of a .cpb file into `message`, which has the type that was split and must be
/// empty. Errors: InvalidArgument if the file isn't of that format or type, DataLoss if it is
/// corrupted, Unimplemented for unknown ways of splitting or compression.
Expected<void> mergeChunks(std::string_view bytes, google::protobuf::Message &message);

} // namespace treadle::graphdef
