#include "treadle/python/Attributes.h"

#include "treadle/ops/OpTable.h"
#include "treadle/python/Arrays.h"
#include "treadle/python/Errors.h"
#include "treadle/tensor/Error.h"

namespace nb = nanobind;

namespace treadle::python {
namespace {

nb::object nameOfType(TypeAttr value) {
  std::string name(dtypeName(value.dtype));
  return nb::str((value.isRef ? name + "_ref" : name).c_str());
}

/// Returns the name for dtypes that numpy lacks.
nb::object numpyType(TypeAttr value) {
  if (value.dtype == DType::Resource || value.dtype == DType::Variant ||
      value.dtype == DType::Invalid)
    return nameOfType({value.dtype});
  return numpyDtype(value.dtype);
}

struct AttributeToPython {
  nb::object (*type)(TypeAttr);

  nb::object operator()(std::monostate) const { return nb::none(); }
  nb::object operator()(int64_t value) const { return nb::int_(value); }
  nb::object operator()(float value) const { return nb::float_(value); }
  nb::object operator()(bool value) const { return nb::bool_(value); }
  nb::object operator()(TypeAttr value) const { return type(value); }
  nb::object operator()(const FunctionRef &value) const { return nb::str(value.name.c_str()); }
  nb::object operator()(const Tensor &value) const {
    return toReadOnlyArray(value, "an attribute");
  }

  // Returns a str if the text is UTF-8, and bytes otherwise.
  nb::object operator()(const std::string &value) const {
    auto size = static_cast<Py_ssize_t>(value.size());
    if (PyObject *text = PyUnicode_DecodeUTF8(value.data(), size, nullptr))
      return nb::steal(text);
    PyErr_Clear();
    return nb::bytes(value.data(), value.size());
  }

  nb::object operator()(const PartialShape &value) const {
    if (!value.hasRank)
      return nb::none();
    nb::list dims;
    for (int64_t dim : value.dims)
      dims.append(dim < 0 ? nb::none() : nb::object(nb::int_(dim)));
    return nb::tuple(dims);
  }

  template <typename T> nb::object operator()(const std::vector<T> &values) const {
    nb::list out;
    for (size_t i = 0; i < values.size(); ++i)
      out.append((*this)(static_cast<T>(values[i])));
    return out;
  }
};

// ---- conversion from Python

class Reader {
public:
  Reader(std::string what) : what(std::move(what)) {}

  std::string string(nb::handle value) const {
    if (PyBytes_Check(value.ptr()))
      return bytesOf(value);
    if (!PyUnicode_Check(value.ptr()))
      wrong(value, "str or bytes");
    return nb::cast<nb::str>(value).c_str();
  }

  int64_t integer(nb::handle value) const {
    nb::object number = nb::steal(PyNumber_Index(value.ptr()));
    if (!number.is_valid() || PyBool_Check(value.ptr())) {
      PyErr_Clear();
      wrong(value, "an int");
    }
    int64_t out = PyLong_AsLongLong(number.ptr());
    if (PyErr_Occurred())
      throw nb::python_error();
    return out;
  }

  float real(nb::handle value) const {
    double out = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      wrong(value, "a float");
    }
    return static_cast<float>(out);
  }

  bool boolean(nb::handle value) const {
    if (!PyBool_Check(value.ptr()) && !typeName(value).starts_with("numpy.bool"))
      wrong(value, "a bool");
    return PyObject_IsTrue(value.ptr());
  }

  /// Returns the dtype for Treadle's name, or for anything that numpy accepts as a dtype.
  TypeAttr type(nb::handle value) const {
    std::string name;
    if (PyUnicode_Check(value.ptr()))
      name = nb::cast<nb::str>(value).c_str();
    else {
      nb::object dtype = nb::module_::import_("numpy").attr("dtype")(value);
      name = nb::cast<nb::str>(dtype.attr("name")).c_str();
      if (name == "object" || name.starts_with("str") || name.starts_with("bytes"))
        name = "string";
    }
    bool isRef = name.ends_with("_ref");
    if (isRef)
      name.resize(name.size() - 4);
    for (int i = 1; i < 64; ++i)
      if (dtypeName(static_cast<DType>(i)) == name)
        return {static_cast<DType>(i), isRef};
    raiseTypeError(str(what, " is '", name, "', expected the name of a dtype: 'float32'"));
  }

  PartialShape shape(nb::handle value) const {
    if (value.is_none())
      return {};
    if (!PySequence_Check(value.ptr()) || PyUnicode_Check(value.ptr()))
      wrong(value, "a shape: a tuple of ints and None, or None");
    PartialShape out = PartialShape::ranked({});
    for (nb::handle dim : value)
      out.dims.push_back(dim.is_none() ? -1 : integer(dim));
    return out;
  }

  Tensor tensor(nb::handle value) const { return toTensor(value, {what, std::nullopt, false}); }

  FunctionRef function(nb::handle value) const { return {string(value), nullptr}; }

  template <typename Read> auto list(nb::handle values, Read read) const {
    std::vector<decltype(read(values))> out;
    if (!PySequence_Check(values.ptr()) || PyUnicode_Check(values.ptr()))
      wrong(values, "a list");
    for (nb::handle value : values)
      out.push_back(read(value));
    return out;
  }

  [[noreturn]] void wrong(nb::handle value, std::string_view expected) const {
    raiseTypeError(str(what, " has type ", typeName(value), ", expected ", expected));
  }

private:
  std::string what;
};

AttrValue ofKind(const Reader &reader, AttrKind kind, bool isList, nb::handle value) {
  auto read = [&](auto one) -> AttrValue {
    if (!isList)
      return one(value);
    return reader.list(value, one);
  };
  switch (kind) {
  case AttrKind::String:
    return read([&](nb::handle v) { return reader.string(v); });
  case AttrKind::Int:
    return read([&](nb::handle v) { return reader.integer(v); });
  case AttrKind::Float:
    return read([&](nb::handle v) { return reader.real(v); });
  case AttrKind::Bool:
    return read([&](nb::handle v) { return reader.boolean(v); });
  case AttrKind::Type:
    return read([&](nb::handle v) { return reader.type(v); });
  case AttrKind::Shape:
    return read([&](nb::handle v) { return reader.shape(v); });
  case AttrKind::Tensor:
    return read([&](nb::handle v) { return reader.tensor(v); });
  case AttrKind::Func:
    return read([&](nb::handle v) { return reader.function(v); });
  }
  return {};
}

/// Returns the kind of attribute that the type of the value implies.
AttrKind kindOf(const Reader &reader, nb::handle value) {
  PyObject *object = value.ptr();
  if (PyBool_Check(object))
    return AttrKind::Bool;
  if (PyLong_Check(object))
    return AttrKind::Int;
  if (PyFloat_Check(object))
    return AttrKind::Float;
  if (PyUnicode_Check(object) || PyBytes_Check(object))
    return AttrKind::String;
  if (PyTuple_Check(object) || value.is_none())
    return AttrKind::Shape;
  if (nb::hasattr(value, "__array__"))
    return AttrKind::Tensor;
  if (PyType_Check(object) || nb::hasattr(value, "itemsize"))
    return AttrKind::Type;
  reader.wrong(value,
               "bool, int, float, str, bytes, a dtype, a shape, an array, or a list of these");
}

} // namespace

nb::object attrObject(const AttrValue &value, Dtypes dtypes) {
  return std::visit(AttributeToPython{dtypes == Dtypes::Names ? nameOfType : numpyType}, value);
}

AttrValue toAttr(std::string_view op, std::string_view name, nb::handle value) {
  Reader reader(str("attribute '", name, "'"));
  const OpDef *def = lookupOp(op);
  if (const AttrDef *attr = def ? def->findAttr(name) : nullptr)
    return ofKind(reader, attr->kind(), attr->isList(), value);
  if (!PyList_Check(value.ptr()))
    return ofKind(reader, kindOf(reader, value), false, value);
  auto list = nb::borrow<nb::list>(value);
  AttrKind kind = list.size() == 0 ? AttrKind::Int : kindOf(reader, list[0]);
  return ofKind(reader, kind, true, value);
}

} // namespace treadle::python
