// Conversion between attributes of nodes and Python objects.
#pragma once

#include "treadle/tensor/Attr.h"

#include <nanobind/nanobind.h>

namespace treadle::python {

/// The representation of dtypes: names such as `float32`, `float32_ref`, or numpy's objects.
enum class Dtypes { Names, Numpy };

/// Converts an attribute to an int, float, bool, str or bytes, a dtype, a shape (a tuple with None
/// for unknown sizes, or None), a read-only array, the name of a function, or a list of these.
nanobind::object attrObject(const AttrValue &value, Dtypes dtypes = Dtypes::Names);

/// Converts a Python value to the attribute `name` of an op; for an unknown op, the type of the
/// value decides. Raises TypeError.
AttrValue toAttr(std::string_view op, std::string_view name, nanobind::handle value);

} // namespace treadle::python
