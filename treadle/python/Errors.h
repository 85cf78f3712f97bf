// Conversion of errors between C++ and Python: an Error becomes an exception of Treadle's classes,
// and an exception of a Python kernel becomes an Error.
#pragma once

#include "treadle/tensor/Error.h"

#include <nanobind/nanobind.h>

namespace treadle::python {

/// Raises the Python exception of the error's code.
[[noreturn]] void raise(const Error &error);

/// Raises TypeError, for calls that are invalid for every graph.
[[noreturn]] void raiseTypeError(const std::string &message);

/// Returns the value, or raises its error.
template <typename T> T orRaise(Expected<T> value) {
  if (!value)
    raise(value.error());
  return std::move(*value);
}
inline void orRaise(Expected<void> value) {
  if (!value)
    raise(value.error());
}

/// Returns the type of a value for messages: `int`, `numpy.ndarray`.
std::string typeName(nanobind::handle value);

/// Converts the exception of a Python function: Treadle's errors keep their code, others become
/// Unknown.
Error toError(nanobind::python_error &raised);

} // namespace treadle::python
