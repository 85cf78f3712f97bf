// The native part of the Python package; treadle/__init__.py has the public names.
#include "treadle/python/Module.h"

#include "treadle/python/Arrays.h"
#include "treadle/tensor/Suggestions.h"
#include "treadle/tensor/Trim.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace nb = nanobind;

NB_MODULE(_native, module) {
  // Sessions and graphs that are alive at exit are not leaks.
  nb::set_leak_warnings(false);
  treadle::python::bindArrays(module);
  treadle::python::bindCommunicator(module);
  treadle::python::bindGraph(module);
  treadle::python::bindBuilder(module);
  treadle::python::bindSession(module);
  treadle::python::bindModel(module);
  treadle::python::bindOps(module);
  treadle::python::bindSandbox(module);
  module.def("_did_you_mean", [](const std::string &name, const std::vector<std::string> &all) {
    return treadle::didYouMean(name, std::vector<std::string_view>(all.begin(), all.end()));
  });
  module.def(
      "trim", treadle::trimTensorMemory, nb::call_guard<nb::gil_scoped_release>(),
      "Returns the memory of freed large tensors (above 1 MiB) to the system; otherwise up to\n"
      "48 MB or 1/32 of the machine's memory is kept for new tensors. Returns the number of\n"
      "bytes.");
  treadle::python::installArgumentErrors(module);
  module.attr("__version__") = std::string(treadle::version()).c_str();
}
