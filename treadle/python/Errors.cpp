// The exception classes are defined in Python (_errors.py); here they are only looked up.
#include "treadle/python/Errors.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace treadle::python {

static nb::object errorModule() { return nb::module_::import_("treadle._errors"); }

void raise(const Error &error) {
  std::string name(errorClass(error.code));
  nb::object type = errorModule().attr(name.c_str());
  nb::object message = nb::steal(PyUnicode_DecodeUTF8(
      error.message.data(), static_cast<Py_ssize_t>(error.message.size()), "backslashreplace"));
  PyErr_SetObject(type.ptr(), message.ptr());
  throw nb::python_error();
}

void raiseTypeError(const std::string &message) { throw nb::type_error(message.c_str()); }

std::string typeName(nb::handle value) {
  nb::handle type = value.type();
  auto module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  auto name = nb::cast<std::string>(nb::str(type.attr("__qualname__")));
  return module == "builtins" ? name : str(module, ".", name);
}

Error toError(nb::python_error &raised) {
  if (raised.matches(PyExc_KeyboardInterrupt)) {
    // Keeps the original exception, which the caller of the run must receive unchanged.
    PyErr_SetInterrupt();
    return cancelled("interrupted");
  }
  nb::object value = nb::borrow(raised.value());
  try {
    // Not every str can be encoded: escape the characters that can't.
    nb::object encoded = nb::str(value).attr("encode")("utf-8", "backslashreplace");
    auto bytes = nb::cast<nb::bytes>(encoded);
    std::string text(bytes.c_str(), bytes.size());
    if (nb::isinstance(value, errorModule().attr("Error")))
      return {static_cast<Code>(nb::cast<int>(value.attr("code"))), std::move(text)};
    std::string type = nb::cast<std::string>(raised.type().attr("__name__"));
    return {Code::Unknown, text.empty() ? type : str(type, ": ", text)};
  } catch (nb::python_error &) {
    return {Code::Unknown, "a Python exception that cannot be printed"};
  }
}

} // namespace treadle::python
