// Names of the canonical codes, and text conversions for messages.
#include "treadle/tensor/Error.h"

#include <array>
#include <charconv>

namespace treadle {

std::string_view errorClass(Code code) {
  static constexpr std::array<std::string_view, 17> names = {
      "OK",
      "CancelledError",
      "UnknownError",
      "InvalidArgumentError",
      "DeadlineExceededError",
      "NotFoundError",
      "AlreadyExistsError",
      "PermissionDeniedError",
      "ResourceExhaustedError",
      "FailedPreconditionError",
      "AbortedError",
      "OutOfRangeError",
      "UnimplementedError",
      "InternalError",
      "UnavailableError",
      "DataLossError",
      "UnauthenticatedError",
  };
  return names[static_cast<size_t>(code)];
}

Error Error::atNode(std::string_view node, std::string_view op) && {
  message = str("node '", node, "' (", op, "): ", message);
  return std::move(*this);
}

namespace detail {

std::string toText(std::string_view text) { return std::string(text); }
std::string toText(const char *text) { return text; }
std::string toText(const std::string &text) { return text; }
std::string toText(char c) { return std::string(1, c); }
std::string toText(bool value) { return value ? "true" : "false"; }

std::string toText(double value) {
  char buffer[32];
  auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, result.ptr);
}

} // namespace detail
} // namespace treadle
