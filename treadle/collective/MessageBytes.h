// Serializes messages, for transports that carry bytes.
#pragma once

#include "treadle/collective/Transport.h"

#include <optional>
#include <string_view>

namespace treadle {

/// Serializes the key, dtype, dimensions and elements. Sender and receiver must have the same byte
/// order and layout.
std::string messageBytes(const std::string &key, const Tensor &value);

/// Parses a message; returns nullopt if the bytes are invalid. Allocates no more memory than the
/// bytes fill.
std::optional<Message> messageOf(int from, std::string_view bytes);

} // namespace treadle
