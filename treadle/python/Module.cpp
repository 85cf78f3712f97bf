// The native half of the Python package; treadle/__init__.py is what users see.
#include "treadle/python/Module.h"

#include "treadle/python/Arrays.h"
#include "treadle/tensor/Suggestions.h"
#include "treadle/tensor/Trim.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace nb = nanobind;

NB_MODULE(_native, module) {
  // Sessions and graphs that are alive at exit are no mistake.
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
      "Gives the system the memory of freed large tensors (above 1 MiB) back, which is\n"
      "otherwise kept for the next ones, up to 48 MB or 1/32 of the machine's memory. Gives\n"
      "the number of bytes.");
  treadle::python::makeErrorsPlain(module);
  module.attr("__version__") = std::string(treadle::version()).c_str();
}
