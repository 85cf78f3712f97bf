// Parses messages in protobuf's text format.
#pragma once

#include "treadle/tensor/Error.h"

#include <google/protobuf/message.h>
#include <string_view>

namespace treadle::graphdef {

/// Messages nested deeper than this are rejected; protobuf has the same limit for binary messages.
inline constexpr int maxDepth = 100;

/// Errors are InvalidArgument and state line and column. `kind` and `file` name what was expected,
/// such as `GraphDef` and `.pbtxt`.
Expected<void> parseTextForm(std::string_view text, std::string_view kind, std::string_view file,
                             google::protobuf::Message &message);

} // namespace treadle::graphdef
