// Errors: one of TensorFlow's canonical codes and a message. Errors are returned, never thrown.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace treadle {

/// The canonical codes. Numbers and names are those of TensorFlow and gRPC.
enum class Code : uint8_t {
  Ok = 0,
  Cancelled = 1,
  Unknown = 2,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  AlreadyExists = 6,
  PermissionDenied = 7,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  DataLoss = 15,
  Unauthenticated = 16,
};

/// Returns the class name that Python users see: `InvalidArgumentError`, `OutOfRangeError`, ...
std::string_view errorClass(Code code);

/// A machine-readable cause, for callers that need more than the code.
enum class Reason : uint8_t {
  Other,
  MissingInput, // an input of the graph or of a signature was not fed
};

/// An error: a code and a message (lower case, no full stop: subject, found, expected, likely fix).
/// The message is for people; programs decide by code and reason.
struct Error {
  Code code = Code::Unknown;
  std::string message;
  Reason reason = Reason::Other;

  /// Adds the node to the message: `node 'a/b' (Op): message`.
  Error atNode(std::string_view node, std::string_view op) &&;
};

template <typename T> using Expected = tl::expected<T, Error>;
using Unexpected = tl::unexpected<Error>;

/// Evaluates to the value of an Expected (to void for Expected<void>), or returns its error from
/// the enclosing function: `Tensor t = TREADLE_TRY(Tensor::make(dtype, dims));`.
#define TREADLE_TRY(...)                                                                           \
  __extension__({                                                                                  \
    auto &&treadleTried = (__VA_ARGS__);                                                           \
    if (!treadleTried)                                                                             \
      return ::treadle::Unexpected(std::move(treadleTried.error()));                               \
    ::treadle::detail::valueOf(std::move(treadleTried));                                           \
  })
namespace detail {
template <typename T> T valueOf(Expected<T> &&expected) {
  if constexpr (!std::is_void_v<T>)
    return std::move(*expected);
}
template <typename T> T valueOf(const Expected<T> &&expected) {
  if constexpr (!std::is_void_v<T>)
    return *expected;
}
} // namespace detail

/// Messages are built with `str(...)`; printf-like construction is deliberately absent.
namespace detail {
std::string toText(std::string_view text);
std::string toText(const char *text);
std::string toText(const std::string &text);
std::string toText(char c);
std::string toText(bool value);
std::string toText(double value);
template <typename T>
  requires std::is_integral_v<T>
std::string toText(T value) {
  return std::to_string(value);
}
} // namespace detail

/// Returns the concatenation of its arguments as text.
template <typename... Args> std::string str(const Args &...args) {
  std::string out;
  (out.append(detail::toText(args)), ...);
  return out;
}

#define TREADLE_ERROR_MAKER(function, code_)                                                       \
  template <typename... Args> Error function(const Args &...args) {                                \
    return Error{Code::code_, str(args...)};                                                       \
  }
TREADLE_ERROR_MAKER(cancelled, Cancelled)
TREADLE_ERROR_MAKER(invalidArgument, InvalidArgument)
TREADLE_ERROR_MAKER(deadlineExceeded, DeadlineExceeded)
TREADLE_ERROR_MAKER(notFound, NotFound)
TREADLE_ERROR_MAKER(alreadyExists, AlreadyExists)
TREADLE_ERROR_MAKER(permissionDenied, PermissionDenied)
TREADLE_ERROR_MAKER(resourceExhausted, ResourceExhausted)
TREADLE_ERROR_MAKER(failedPrecondition, FailedPrecondition)
TREADLE_ERROR_MAKER(aborted, Aborted)
TREADLE_ERROR_MAKER(outOfRange, OutOfRange)
TREADLE_ERROR_MAKER(unimplemented, Unimplemented)
TREADLE_ERROR_MAKER(internal, Internal)
TREADLE_ERROR_MAKER(unavailable, Unavailable)
TREADLE_ERROR_MAKER(dataLoss, DataLoss)
#undef TREADLE_ERROR_MAKER

/// Returns an InvalidArgument error with Reason::MissingInput.
template <typename... Args> Error missingInput(const Args &...args) {
  return Error{Code::InvalidArgument, str(args...), Reason::MissingInput};
}

} // namespace treadle
