// Errors of calls whose arguments fit no signature of a native function: one line that names the
// argument, written by treadle/_arguments.py, instead of nanobind's list of signatures.
#include "treadle/python/Module.h"

#include <nanobind/stl/string.h>

#include <unordered_map>

namespace nb = nanobind;

namespace treadle::python {
namespace {

/// The original call functions; written while the module is initialized, and only read later.
std::unordered_map<PyObject *, vectorcallfunc> &originalCalls() {
  static auto *all = new std::unordered_map<PyObject *, vectorcallfunc>;
  return *all;
}

/// Returns the function pointer of PEP 590 vectorcall, the first field of nanobind's function
/// objects. The stable ABI doesn't give the offset, so it is read from the member
/// `__vectorcalloffset__`.
vectorcallfunc *vectorcallSlot(nb::handle function) {
  if (!nb::hasattr(function, "__nb_signature__") || !nb::hasattr(function, "__vectorcalloffset__"))
    return nullptr;
  char *object = reinterpret_cast<char *>(function.ptr());
  auto *call = reinterpret_cast<vectorcallfunc *>(object + sizeof(PyVarObject));
  auto told = nb::cast<intptr_t>(function.attr("__vectorcalloffset__"));
  return told == reinterpret_cast<intptr_t>(*call) ? call : nullptr;
}

nb::object argumentErrorFor(PyObject *function, PyObject *const *args, Py_ssize_t count,
                            nb::handle names) {
  nb::list values;
  nb::dict named;
  for (Py_ssize_t i = 0; i < count; ++i)
    values.append(nb::handle(args[i]));
  if (names.is_valid())
    for (nb::handle name : nb::borrow<nb::tuple>(names))
      named[name] = nb::handle(args[count++]);
  return nb::module_::import_("treadle._arguments")
      .attr("mismatch")(nb::handle(function), values, named);
}

void wrapArgumentErrors(PyObject *function, PyObject *const *args, Py_ssize_t count,
                        PyObject *names) {
  nb::python_error raised;
  try {
    auto text = nb::cast<std::string>(nb::str(raised.value()));
    if (text.find("(): incompatible function arguments") == text.npos)
      return raised.restore();
    nb::object line = argumentErrorFor(function, args, count, names);
    PyErr_SetObject(PyExc_TypeError, line.ptr());
  } catch (std::exception &) { // keep nanobind's message
    raised.restore();
  }
}

PyObject *callOrExplain(PyObject *function, PyObject *const *args, size_t count, PyObject *names) {
  PyObject *result = originalCalls().find(function)->second(function, args, count, names);
  if (!result && PyErr_ExceptionMatches(PyExc_TypeError))
    wrapArgumentErrors(function, args, static_cast<uint32_t>(count),
                       names); // the upper bits are flags
  return result;
}

void wrapArgumentErrors(nb::handle scope) {
  for (nb::handle value : nb::borrow<nb::object>(scope.attr("__dict__").attr("values")()))
    if (vectorcallfunc *call = vectorcallSlot(value))
      if (originalCalls().emplace(value.ptr(), *call).second)
        *call = callOrExplain;
}

} // namespace

void installArgumentErrors(nb::module_ &module) {
  wrapArgumentErrors(nb::handle(module));
  for (nb::handle value : nb::borrow<nb::object>(module.attr("__dict__").attr("values")()))
    if (PyType_Check(value.ptr()))
      wrapArgumentErrors(value);
}

} // namespace treadle::python
