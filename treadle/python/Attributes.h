// Attributes of nodes as Python objects, both ways.
#pragma once

#include "treadle/tensor/Attr.h"

#include <nanobind/nanobind.h>

namespace treadle::python {

/// How dtypes are told: `float32`, `float32_ref`; or as numpy's objects.
enum class Dtypes { Names, Numpy };

/// An int, float, bool, str or bytes, a dtype, a shape (a tuple with None, or None), a
/// read-only array, the name of a function, or a list of these.
nanobind::object attrObject(const AttrValue &value, Dtypes dtypes = Dtypes::Names);

/// The attribute `name` of an op from what a Python user gives for it; of an op that isn't known,
/// as the value's own type says. Raises TypeError.
AttrValue toAttr(std::string_view op, std::string_view name, nanobind::handle value);

} // namespace treadle::python
