// Messages as bytes, for transports that carry no tensors.
#pragma once

#include "treadle/collective/Transport.h"

#include <optional>
#include <string_view>

namespace treadle {

/// The key, the value's dtype and dimensions, and the value. For processes of one machine type.
std::string messageBytes(const std::string &key, const Tensor &value);

/// The message that the bytes are; nothing where they are none of ours. No memory is taken but what
/// the bytes fill.
std::optional<Message> messageOf(int from, std::string_view bytes);

} // namespace treadle
