// Errors on their way between C++ and Python: an Error becomes an exception of treadle's own
// classes, and an exception of a Python kernel becomes an Error.
#pragma once

#include "treadle/tensor/Error.h"

#include <nanobind/nanobind.h>

namespace treadle::python {

/// Raises the Python exception of the error's code.
[[noreturn]] void raise(const Error &error);

/// Raises TypeError: for calls that no graph could make right.
[[noreturn]] void raiseTypeError(const std::string &message);

/// The value, or raises its error.
template <typename T> T orRaise(Expected<T> value) {
  if (!value)
    raise(value.error());
  return std::move(*value);
}
inline void orRaise(Expected<void> value) {
  if (!value)
    raise(value.error());
}

/// The type of a value, for messages: `int`, `numpy.ndarray`.
std::string typeName(nanobind::handle value);

/// What a Python function raised: treadle's errors as they are, others as Unknown.
Error toError(nanobind::python_error &raised);

} // namespace treadle::python
