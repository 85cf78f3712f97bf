// Conversion between numpy arrays and tensors, without copies where they are not observable.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <nanobind/nanobind.h>

#include <optional>

namespace treadle::python {

/// Returns numpy's dtype: objects for strings, ml_dtypes' types for those that numpy lacks, a
/// structure with one field for quantized types. Raises UnimplementedError for handles.
nanobind::object numpyDtype(DType dtype);

/// Options of `toTensor`.
struct TensorConversion {
  std::string what;          // the subject of error messages: `feed 'x:0'`
  std::optional<DType> want; // the required dtype; nullopt: that of the value
  bool mayShare = false;     // whether the tensor may share the array's memory
};

/// Converts an array, a numpy scalar, or anything that numpy.asarray accepts. Arrays are converted
/// to another dtype only if it can represent all values of their dtype; Python numbers only if they
/// fit.
Tensor toTensor(nanobind::handle value, const TensorConversion &request);

/// Whether the object is a numpy.ndarray or of a subclass.
bool isArray(nanobind::handle value);

/// Returns a writable array. It takes over the tensor's memory if nothing else refers to it, and is
/// a copy otherwise.
nanobind::object toArray(Tensor tensor, const std::string &what);

/// Returns a read-only array of the tensor's memory (a copy for strings).
nanobind::object toReadOnlyArray(Tensor tensor, const std::string &what);

/// Returns the contents of a bytes object.
std::string bytesOf(nanobind::handle bytes);

/// Adds the definitions for arrays to the module.
void bindArrays(nanobind::module_ &module);

} // namespace treadle::python
