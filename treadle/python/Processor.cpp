// The module _processor: importing it raises an ImportError if the processor lacks instructions
// that the native module is compiled for. Compiled for any processor, like LowestLevel.cpp.
#include "treadle/runtime/BaselineCheck.h"

#include <Python.h>

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_processor", nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit__processor() {
  if (const char *problem = treadle::baselineProblem()) {
    PyErr_SetString(PyExc_ImportError, problem);
    return nullptr;
  }
  return PyModule_Create(&module);
}
