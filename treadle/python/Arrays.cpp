// Arrays are accessed through numpy's Python API and the buffer protocol. This works for all
// versions of numpy, and for the dtypes of ml_dtypes, which buffer formats can't describe.
#include "treadle/python/Arrays.h"

#include "treadle/python/Errors.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cmath>
#include <unordered_map>

namespace nb = nanobind;

namespace treadle::python {

namespace {

// Below this many bytes a copy is cheaper than sharing.
constexpr size_t smallBytes = 1024;
// Kernels may use aligned vector loads at the start of a tensor.
constexpr uintptr_t sharedAlignment = 16;

// Looked up once and never freed: the interpreter may be gone before this module at exit. Not
// initialized as function-local statics: an import releases the GIL, and a thread that then holds
// it would deadlock waiting for the initialization.
nb::handle numpy() {
  static constinit PyObject *module = nullptr;
  if (!module)
    module = nb::module_::import_("numpy").release().ptr();
  return module;
}
nb::handle numpyAttr(const char *name) {
  static auto *cache = new std::unordered_map<std::string_view, nb::handle>;
  nb::handle &slot = (*cache)[name];
  if (!slot)
    slot = nb::object(numpy().attr(name)).release();
  return slot;
}
nb::handle arrayType() { return numpyAttr("ndarray"); }

} // namespace

bool isArray(nb::handle value) {
  return PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject *>(arrayType().ptr()));
}

namespace {

std::string text(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

// A view of an object's memory, without its format.
class Buffer {
public:
  Buffer(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view, flags))
      throw nb::python_error();
  }
  ~Buffer() { PyBuffer_Release(&view); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  Py_buffer view;
};

// --- dtypes ------------------------------------------------------------------------------------

bool isQuantized(DType dtype) {
  return dtype == DType::QInt8 || dtype == DType::QUInt8 || dtype == DType::QInt16 ||
         dtype == DType::QUInt16 || dtype == DType::QInt32;
}

nb::object extensionDtype(std::string_view name) {
  nb::object module;
  try {
    module = nb::module_::import_("ml_dtypes");
  } catch (nb::python_error &) {
    raise(failedPrecondition("arrays of ", name, " need the Python package ml_dtypes; install it"));
  }
  return numpyAttr("dtype")(module.attr(std::string(name).c_str()));
}

nb::object makeDtype(DType dtype) {
  std::string name(dtypeName(dtype));
  if (dtype == DType::String)
    return numpyAttr("dtype")("O");
  if (isQuantized(dtype)) // numpy has no such dtype: qint8 arrays are int8
    return numpyAttr("dtype")(name.substr(1));
  if (dtype == DType::Resource || dtype == DType::Variant || dtype == DType::Invalid)
    raise(unimplemented("numpy has no dtype for ", name));
  bool isExtension = dtype == DType::BFloat16 || dtype >= DType::Float8E5M2;
  return isExtension ? extensionDtype(name) : numpyAttr("dtype")(name);
}

} // namespace

nb::object numpyDtype(DType dtype) {
  static std::array<nb::handle, numDTypes> made;
  nb::handle &slot = made[static_cast<size_t>(dtype)];
  if (!slot)
    slot = makeDtype(dtype).release();
  return nb::borrow(slot);
}

std::string bytesOf(nb::handle bytes) {
  auto held = nb::borrow<nb::bytes>(bytes);
  return {held.c_str(), held.size()};
}

namespace {

// Returns the dtype of an array: String for any of numpy's string dtypes, Invalid for dtypes
// without a counterpart.
DType nameDtype(nb::handle dtype) {
  std::string kind = text(dtype.attr("kind"));
  if (kind == "O" || kind == "S" || kind == "U" || kind == "T")
    return DType::String;
  if (!nb::cast<bool>(dtype.attr("isnative")))
    return DType::Invalid;
  nb::object fields = dtype.attr("names");
  if (!fields.is_none()) {
    if (nb::len(fields) != 1)
      return DType::Invalid;
    std::optional<DType> named = dtypeFromName(text(fields[nb::int_(0)]));
    return named && isQuantized(*named) ? *named : DType::Invalid;
  }
  return dtypeFromName(text(dtype.attr("name"))).value_or(DType::Invalid);
}

DType dtypeOf(nb::handle dtype) {
  static auto *known = new std::unordered_map<PyObject *, DType>;
  if (auto it = known->find(dtype.ptr()); it != known->end())
    return it->second;
  DType named = nameDtype(dtype);
  // Numeric dtypes are few and immortal, so they can be cached; others are created at will.
  if (named != DType::String && named != DType::Invalid && !isQuantized(named))
    known->emplace(nb::borrow(dtype).release().ptr(), named);
  return named;
}

nb::tuple shapeTuple(Dims dims) {
  nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t i = 0; i < dims.size(); ++i)
    PyTuple_SetItem(out.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(dims[i]));
  return nb::borrow<nb::tuple>(out);
}

std::string describe(nb::handle array) {
  std::string out = text(array.attr("dtype")) + "[";
  nb::tuple shape = nb::cast<nb::tuple>(array.attr("shape"));
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? "," : "") + text(shape[i]);
  return out + "]";
}

// --- to tensors --------------------------------------------------------------------------------

[[noreturn]] void raiseWrongDtype(const TensorConversion &request, nb::handle array) {
  std::string wanted(dtypeName(*request.want));
  bool isNumber = *request.want != DType::String && *request.want != DType::Resource &&
                  *request.want != DType::Variant;
  raise(invalidArgument(request.what, " is ", describe(array), ", expected ", wanted,
                        isNumber ? str("; convert it with .astype('", wanted, "')") : ""));
}

std::string elementBytes(nb::handle element, const TensorConversion &request) {
  PyObject *object = element.ptr();
  if (PyBytes_Check(object))
    return bytesOf(element);
  if (!PyUnicode_Check(object))
    raise(invalidArgument(request.what, " contains a ", typeName(element),
                          ", expected bytes or str"));
  Py_ssize_t size;
  const char *utf8 = PyUnicode_AsUTF8AndSize(object, &size);
  if (utf8)
    return {utf8, static_cast<size_t>(size)};
  nb::python_error error; // an unpaired surrogate
  raise(invalidArgument(request.what, " has a str that is not valid Unicode: ",
                        toError(error).message, "; use bytes"));
}

std::vector<int64_t> dimsOf(nb::handle array) {
  nb::tuple shape = nb::cast<nb::tuple>(array.attr("shape"));
  std::vector<int64_t> dims;
  for (nb::handle dim : shape)
    dims.push_back(nb::cast<int64_t>(dim));
  return dims;
}

Tensor stringTensor(nb::handle array, const TensorConversion &request) {
  // As objects, elements are str or bytes. numpy's own strings lose trailing zeros anyway.
  nb::object objects = array.attr("astype")("O");
  Tensor out = orRaise(Tensor::make(DType::String, dimsOf(array)));
  nb::object flat = objects.attr("reshape")(-1).attr("tolist")();
  std::string *element = out.data<std::string>();
  for (nb::handle item : nb::cast<nb::list>(flat))
    *element++ = elementBytes(item, request);
  return out;
}

// Keeps an array's memory alive until the tensor is destroyed.
struct SharedBuffer {
  explicit SharedBuffer(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_C_CONTIGUOUS))
      throw nb::python_error();
  }
  ~SharedBuffer() {
    nb::gil_scoped_acquire gil; // the last reference may be dropped on any thread
    PyBuffer_Release(&view);
  }
  Py_buffer view;
};

Tensor sharedTensor(DType dtype, Dims dims, std::shared_ptr<SharedBuffer> buffer) {
  void *data = buffer->view.buf;
  return Tensor::external(dtype, dims, data,
                          [kept = std::move(buffer)]() mutable { kept.reset(); });
}

// Converts an array of a plain dtype.
Tensor plainTensor(nb::object array, DType dtype, bool mayShare) {
  Buffer buffer(array, PyBUF_STRIDES);
  const Py_buffer &view = buffer.view;
  if (!PyBuffer_IsContiguous(&view, 'C')) {
    nb::object copy = numpyAttr("array")(array, nb::arg("order") = "C");
    return plainTensor(std::move(copy), dtype, mayShare);
  }
  std::vector<int64_t> dims(view.shape, view.shape + view.ndim);
  size_t bytes = static_cast<size_t>(view.len);
  bool isAligned = reinterpret_cast<uintptr_t>(view.buf) % sharedAlignment == 0;
  if (mayShare && isAligned && bytes >= smallBytes)
    return sharedTensor(dtype, dims, std::make_shared<SharedBuffer>(array));
  Tensor out = orRaise(Tensor::make(dtype, dims));
  if (bytes)
    std::memcpy(out.raw(), view.buf, bytes);
  return out;
}

// Whether Python numbers of this array may be converted to the dtype, by the order of Python's
// number kinds.
bool isConvertible(nb::handle array, DType want) {
  static constexpr std::string_view order = "biufc";
  std::string kind = text(array.attr("dtype").attr("kind"));
  size_t from = kind == "u" ? 1 : order.find(kind);
  size_t to = want == DType::Bool ? 0 : isInteger(want) ? 2 : isFloating(want) ? 3 : 4;
  return from <= to;
}

// Converts a value that isn't an array: a Python number, string or list of these, or any object
// that numpy can read.
nb::object arrayFromValue(nb::handle value, const TensorConversion &request) {
  auto objects = [&] { return numpyAttr("array")(value, nb::arg("dtype") = "O"); };
  try {
    if (request.want == DType::String || PyBytes_Check(value.ptr()))
      return objects();
    nb::object array = numpyAttr("asarray")(value);
    // numpy's fixed-length bytes lose trailing zeros.
    return text(array.attr("dtype").attr("kind")) == "S" ? objects() : array;
  } catch (nb::python_error &error) {
    raise(
        invalidArgument(request.what, " can't be converted to an array: ", toError(error).message));
  }
}

// Casts wrap around, and so do casts back: 2**64 - 1 becomes -1 and comes back as 2**64 - 1. The
// sign reveals it.
bool isSame(const nb::object &fitted, const nb::object &array) {
  nb::handle equal = numpyAttr("array_equal"), less = numpyAttr("less");
  return nb::cast<bool>(equal(fitted.attr("astype")(array.attr("dtype")), array)) &&
         nb::cast<bool>(equal(less(fitted, 0), less(array, 0)));
}

[[noreturn]] void raiseUnrepresentable(const TensorConversion &request) {
  raise(invalidArgument(request.what, " has a number that ", dtypeName(*request.want),
                        " can't represent"));
}

// numpy makes object arrays of values without a dtype, including integers beyond 64 bits.
[[noreturn]] void raiseWrongElement(nb::handle array, const TensorConversion &request) {
  nb::object items = array.attr("reshape")(-1).attr("tolist")();
  for (nb::handle item : nb::cast<nb::list>(items))
    if (!PyLong_Check(item.ptr()) && !PyFloat_Check(item.ptr()))
      raise(invalidArgument(request.what, " contains a ", typeName(item), ", expected ",
                            dtypeName(*request.want)));
  raiseUnrepresentable(request);
}

// Casts of numbers that are too large for a dtype give infinity and a warning, which is less
// helpful than an error.
nb::object castNumbers(const nb::object &array, DType want) {
  nb::object errstate = numpyAttr("errstate")(nb::arg("all") = "ignore");
  errstate.attr("__enter__")();
  nb::object fitted = array.attr("astype")(numpyDtype(want));
  errstate.attr("__exit__")(nb::none(), nb::none(), nb::none());
  return fitted;
}

bool isAsFinite(const nb::object &fitted, const nb::object &array) {
  nb::handle isfinite = numpyAttr("isfinite");
  return nb::cast<bool>(numpyAttr("array_equal")(isfinite(fitted), isfinite(array)));
}

nb::object convertNumbers(nb::object array, const TensorConversion &request) {
  bool isEmpty = nb::cast<int64_t>(array.attr("size")) == 0;
  if (!isEmpty && !isConvertible(array, *request.want))
    raiseWrongDtype(request, array);
  nb::object fitted = castNumbers(array, *request.want);
  bool fits = isInteger(*request.want) ? isSame(fitted, array) : isAsFinite(fitted, array);
  if (!fits)
    raiseUnrepresentable(request);
  return fitted;
}

// Numbers up to this fit all floating-point dtypes.
double alwaysFits(DType dtype) {
  return dtype == DType::Float64                               ? HUGE_VAL
         : dtype == DType::Float32 || dtype == DType::BFloat16 ? 1e38
         : dtype == DType::Float16                             ? 65504
                                                               : 8;
}

// Returns the value of a Python int or float; infinity if it is too large for a double.
double magnitude(nb::handle number) {
  double value = PyFloat_AsDouble(number.ptr());
  if (value != -1 || !PyErr_Occurred())
    return std::fabs(value);
  PyErr_Clear();
  return HUGE_VAL;
}

// Converts a single number, the most common case, with the same result as arrayFromValue and
// convertNumbers in a tenth of the time. Returns an empty tensor for the cases that they must
// decide.
nb::object numberArray(nb::handle value, DType want) {
  bool isInt = PyLong_CheckExact(value.ptr()) && (isInteger(want) || isFloating(want));
  bool isFloat = PyFloat_CheckExact(value.ptr()) && isFloating(want);
  if (!isInt && !isFloat)
    return {};
  if (isFloating(want) && !(magnitude(value) <= alwaysFits(want)))
    return {};
  PyObject *args[] = {value.ptr(), numpyDtype(want).ptr()};
  nb::object array = nb::steal(PyObject_Vectorcall(numpyAttr("asarray").ptr(), args, 2, nullptr));
  if (!array) {
    PyErr_Clear();
    return {};
  }
  bool isExact = !isInteger(want) || array.attr("item")().equal(value);
  return isExact ? array : nb::object();
}

nb::object castExactly(nb::object array, const TensorConversion &request) {
  nb::object wanted = numpyDtype(*request.want);
  if (!nb::cast<bool>(numpyAttr("can_cast")(array.attr("dtype"), wanted)))
    raiseWrongDtype(request, array);
  return array.attr("astype")(wanted);
}

bool isOfObjects(nb::handle array) { return text(array.attr("dtype").attr("kind")) == "O"; }

// Masked elements would be used in computations.
void requireUnmasked(nb::handle value, const TensorConversion &request) {
  bool isPlainArray = value.type().is(arrayType());
  if (!isPlainArray && isArray(value) && nb::cast<bool>(numpyAttr("ma").attr("is_masked")(value)))
    raise(invalidArgument(request.what, " has masked elements; fill them with .filled()"));
}

bool isHandle(const std::optional<DType> &want) {
  return want == DType::Resource || want == DType::Variant;
}

} // namespace

Tensor toTensor(nb::handle value, const TensorConversion &request) {
  if (request.want)
    if (nb::object number = numberArray(value, *request.want))
      return plainTensor(std::move(number), *request.want, false);
  requireUnmasked(value, request);
  // A numpy scalar has a dtype, like an array.
  bool isLoose = !isArray(value) && !nb::isinstance(value, numpyAttr("generic"));
  nb::object array = isArray(value) ? nb::borrow(value) : arrayFromValue(value, request);
  if (isHandle(request.want))
    raiseWrongDtype(request, array);
  DType dtype = dtypeOf(array.attr("dtype"));
  if (request.want && dtype != *request.want) {
    if (isLoose && *request.want != DType::String && isOfObjects(array))
      raiseWrongElement(array, request);
    if (dtype == DType::String || *request.want == DType::String || isQuantized(*request.want))
      raiseWrongDtype(request, array);
    array = isLoose ? convertNumbers(std::move(array), request)
                    : castExactly(std::move(array), request);
    dtype = *request.want;
  }
  if (dtype == DType::String)
    return stringTensor(array, request);
  if (dtype == DType::Invalid)
    raise(
        invalidArgument(request.what, " is ", describe(array), ", which tensors can't represent"));
  return plainTensor(std::move(array), dtype, request.mayShare);
}

// --- to arrays ---------------------------------------------------------------------------------

namespace {

// The owner of a tensor's memory that an array uses.
struct TensorMemory {
  Tensor tensor;
  bool isReadOnly;
};

int getTensorBuffer(PyObject *self, Py_buffer *view, int flags) {
  TensorMemory *memory = nb::inst_ptr<TensorMemory>(self);
  return PyBuffer_FillInfo(view, self, memory->tensor.raw(),
                           static_cast<Py_ssize_t>(memory->tensor.bytes()), memory->isReadOnly,
                           flags);
}

nb::object emptyArray(Dims dims, const nb::object &dtype) {
  return numpyAttr("empty")(shapeTuple(dims), dtype);
}

nb::object bytesArray(const Tensor &tensor) {
  nb::object out = emptyArray(tensor.dims(), numpyDtype(DType::String));
  Buffer buffer(out, PyBUF_WRITABLE);
  PyObject **slot = static_cast<PyObject **>(buffer.view.buf);
  for (const std::string &element : tensor.values<std::string>()) {
    PyObject *bytes =
        PyBytes_FromStringAndSize(element.data(), static_cast<Py_ssize_t>(element.size()));
    if (!bytes)
      throw nb::python_error();
    Py_XDECREF(std::exchange(*slot++, bytes));
  }
  return out;
}

nb::object sharedArray(Tensor tensor, bool isReadOnly) {
  nb::object dtype = numpyDtype(tensor.dtype());
  nb::tuple shape = shapeTuple(tensor.dims());
  nb::object memory = nb::cast(TensorMemory{std::move(tensor), isReadOnly});
  return arrayType()(shape, dtype, memory);
}

nb::object copiedArray(const Tensor &tensor) {
  nb::object out = emptyArray(tensor.dims(), numpyDtype(tensor.dtype()));
  Buffer buffer(out, PyBUF_WRITABLE);
  if (tensor.bytes())
    std::memcpy(buffer.view.buf, tensor.raw(), tensor.bytes());
  return out;
}

void requireArray(const Tensor &tensor, const std::string &what) {
  if (!tensor)
    raise(internal(what, " has no value"));
  if (tensor.dtype() == DType::Resource || tensor.dtype() == DType::Variant)
    raise(invalidArgument(what, " is a ", dtypeName(tensor.dtype()),
                          ", which arrays can't represent; fetch a value that an op reads from it, "
                          "or name its node as a target"));
}

} // namespace

// numpy can fail: it allows fewer dimensions, counts the bytes of empty arrays too, and may run out
// of memory.
template <typename Make>
static nb::object makeArray(const Tensor &tensor, const std::string &what, Make make) {
  requireArray(tensor, what);
  std::string type = tensorTypeText(tensor);
  try {
    return make();
  } catch (nb::python_error &error) {
    if (error.matches(PyExc_MemoryError))
      raise(resourceExhausted(what, " is ", type, ", which doesn't fit in memory as an array"));
    if (!error.matches(PyExc_ValueError))
      throw;
    raise(invalidArgument(what, " is ", type,
                          ", which can't be a numpy array: ", toError(error).message));
  }
}

nb::object toArray(Tensor tensor, const std::string &what) {
  return makeArray(tensor, what, [&] {
    if (tensor.dtype() == DType::String)
      return bytesArray(tensor);
    if (tensor.bytes() < smallBytes || !tensor.isUnique())
      return copiedArray(tensor);
    return sharedArray(std::move(tensor), false);
  });
}

nb::object toReadOnlyArray(Tensor tensor, const std::string &what) {
  return makeArray(tensor, what, [&] {
    if (tensor.dtype() == DType::String)
      return bytesArray(tensor);
    if (tensor.bytes())
      return sharedArray(std::move(tensor), true);
    return copiedArray(tensor);
  });
}

void bindArrays(nb::module_ &module) {
  static PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void *>(getTensorBuffer)},
      {0, nullptr},
  };
  nb::class_<TensorMemory>(module, "_TensorMemory", nb::type_slots(slots));
}

} // namespace treadle::python
