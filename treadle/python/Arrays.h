// numpy arrays as tensors and tensors as numpy arrays, without copying where nobody could tell.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <nanobind/nanobind.h>

#include <optional>

namespace treadle::python {

/// numpy's dtype: objects for strings, ml_dtypes' types for those that numpy lacks, a structure of
/// one field for quantized types. Raises UnimplementedError for handles.
nanobind::object numpyDtype(DType dtype);

/// How `toTensor` treats what it is given.
struct TensorRequest {
  std::string what;          // for messages: `feed 'x:0'`
  std::optional<DType> want; // none: whatever the value is
  bool mayShare = false;     // the tensor may be the array's own memory
};

/// An array, a numpy scalar, or anything that numpy.asarray takes. Arrays keep their values: they
/// are converted only where every value of their dtype can be; Python numbers only where they fit.
Tensor toTensor(nanobind::handle value, const TensorRequest &request);

/// Whether it is numpy's own kind of array, or of a class that inherits from it.
bool isArray(nanobind::handle value);

/// An array of its own, writable. Takes the tensor's memory where nobody else has it.
nanobind::object toArray(Tensor tensor, const std::string &what);

/// The tensor's own memory, read-only (strings: a copy).
nanobind::object toReadOnlyArray(Tensor tensor, const std::string &what);

/// The contents of a bytes object.
std::string bytesOf(nanobind::handle bytes);

/// Adds what arrays need to the module.
void bindArrays(nanobind::module_ &module);

} // namespace treadle::python
