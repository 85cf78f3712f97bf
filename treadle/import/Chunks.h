// Messages of any size, split into chunks: what TensorFlow's proto splitter writes (.cpb).
#pragma once

#include "treadle/tensor/Error.h"

#include <google/protobuf/message.h>
#include <string_view>

namespace treadle::graphdef {

/// Puts a message together from the bytes of a .cpb file. `message` is of the type that was split,
/// and empty. Errors: InvalidArgument if the file isn't of that form or type, DataLoss if it is
/// damaged, Unimplemented for ways of splitting or compressing that aren't there.
Expected<void> mergeChunks(std::string_view bytes, google::protobuf::Message &message);

} // namespace treadle::graphdef
