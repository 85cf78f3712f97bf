// Messages in protobuf's text form.
#pragma once

#include "treadle/tensor/Error.h"

#include <google/protobuf/message.h>
#include <string_view>

namespace treadle::graphdef {

/// Nested messages deeper than this are refused, as protobuf does for binary messages.
inline constexpr int maxDepth = 100;

/// Errors are InvalidArgument and state line and column; `kind` and `file` say what was expected:
/// `GraphDef` and `.pbtxt`.
Expected<void> parseTextForm(std::string_view text, std::string_view kind, std::string_view file,
                             google::protobuf::Message &message);

} // namespace treadle::graphdef
