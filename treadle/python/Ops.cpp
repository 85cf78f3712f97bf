// treadle.register_op and treadle.unregister_op: kernels in Python.
#include "treadle/python/Arrays.h"
#include "treadle/python/Attributes.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Module.h"

#include <nanobind/stl/string.h>

#include <map>

namespace nb = nanobind;

namespace treadle::python {

namespace {

// A Python object that may be dropped by any thread.
class SharedObject {
public:
  explicit SharedObject(nb::object object) : pointer(object.release().ptr()) {}
  ~SharedObject() {
    nb::gil_scoped_acquire gil;
    Py_DECREF(pointer);
  }
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;

  nb::handle get() const { return pointer; }

private:
  PyObject *pointer;
};

// Registered functions by op, or by PyFunc's token. Guarded by the GIL, and never freed: at exit
// the interpreter may be gone first.
struct Registered {
  std::shared_ptr<SharedObject> function;
  OpTraits traits;
};
using Functions = std::map<std::string, Registered, std::less<>>;
std::shared_ptr<const Functions> &registered() {
  static auto *functions = new std::shared_ptr<const Functions>(std::make_shared<Functions>());
  return *functions;
}
std::shared_ptr<const RegisteredOps> &newestOps() {
  static auto *ops = new std::shared_ptr<const RegisteredOps>;
  return *ops;
}

// --- attributes --------------------------------------------------------------------------------

// Attributes that begin with an underscore are notes of tools, and no keyword is meant for them.
nb::dict attrDict(const AttrMap &attrs) {
  nb::dict out;
  for (const auto &[name, value] : attrs)
    if (!name.starts_with('_'))
      out[name.c_str()] = attrObject(value, Dtypes::Numpy);
  return out;
}

// --- the kernel --------------------------------------------------------------------------------

struct PythonKernel {
  std::shared_ptr<SharedObject> function;
  std::shared_ptr<SharedObject> attrs; // a dict
  std::vector<DType> outputTypes;
};

nb::object callFunction(OpContext &ctx, const PythonKernel &kernel) {
  nb::list args;
  for (int i = 0; i < ctx.numInputs(); ++i)
    args.append(toReadOnlyArray(ctx.input(i), str("input ", i)));
  nb::tuple tuple(args);
  PyObject *result =
      PyObject_Call(kernel.function->get().ptr(), tuple.ptr(), kernel.attrs->get().ptr());
  if (!result)
    throw nb::python_error();
  return nb::steal(result);
}

// None is no result, a tuple is several, and anything else is one.
nb::tuple resultTuple(nb::object result) {
  if (result.is_none())
    return nb::tuple();
  if (PyTuple_Check(result.ptr()))
    return nb::borrow<nb::tuple>(result);
  return nb::make_tuple(std::move(result));
}

void setOutputs(OpContext &ctx, const PythonKernel &kernel, nb::object result) {
  bool isOneTuple = ctx.numOutputs() == 1 && nb::isinstance<nb::list>(result);
  nb::tuple results = isOneTuple ? nb::make_tuple(result) : resultTuple(std::move(result));
  if (results.size() != kernel.outputTypes.size())
    return ctx.fail(invalidArgument("its Python function returned ", results.size(),
                                    " values, expected ", kernel.outputTypes.size(),
                                    ": a tuple of one array per output"));
  for (size_t i = 0; i < results.size(); ++i) {
    TensorRequest request{str("result ", i, " of its Python function"), kernel.outputTypes[i]};
    ctx.setOutput(static_cast<int>(i), toTensor(results[i], request));
  }
}

void callPython(OpContext &ctx) {
  const PythonKernel &kernel = ctx.state<PythonKernel>();
  nb::gil_scoped_acquire gil;
  try {
    setOutputs(ctx, kernel, callFunction(ctx, kernel));
  } catch (nb::python_error &raised) {
    ctx.fail(toError(raised));
  }
}

Expected<BoundKernel> bindPython(const std::shared_ptr<SharedObject> &function,
                                 const BindContext &node) {
  nb::gil_scoped_acquire gil;
  try {
    auto attrs = std::make_shared<SharedObject>(attrDict(node.attrs));
    BoundKernel bound =
        boundWith(callPython, PythonKernel{function,
                                           std::move(attrs),
                                           {node.outputTypes.begin(), node.outputTypes.end()}});
    bound.isExpensive = true;
    return bound;
  } catch (nb::python_error &raised) {
    return Unexpected(toError(raised));
  }
}

// PyFunc says by a token which function it means. Its own attributes mean nothing to the function.
Expected<BoundKernel> bindToken(const std::shared_ptr<const Functions> &functions,
                                const BindContext &node) {
  std::string token = node.attrs.getOr<std::string>("token", "");
  auto found = functions->find(token);
  if (found == functions->end())
    return Unexpected(unimplemented("the Python function of token '", token,
                                    "' isn't here; treadle.register_op('", token,
                                    "', fn) before the session is made"));
  BindContext bare = node;
  static const AttrMap none;
  return bindPython(found->second.function, BindContext{bare.node, bare.op, none, bare.inputTypes,
                                                        bare.outputTypes, bare.device});
}

std::shared_ptr<const RegisteredOps> makeOps() {
  auto ops = std::make_shared<RegisteredOps>();
  KernelRegistry *kernels = &ops->kernels;
  std::shared_ptr<const Functions> functions = registered();
  for (const char *op : {"PyFunc", "PyFuncStateless", "EagerPyFunc"})
    kernels->add(op, [functions](const BindContext &node) { return bindToken(functions, node); });
  for (const auto &[op, entry] : *functions)
    kernels->add(op, [function = entry.function](const BindContext &node) {
      return bindPython(function, node);
    });
  for (const auto &[op, entry] : *functions)
    ops->traits.add(op, entry.traits);
  return ops;
}

void replaceFunctions(std::shared_ptr<const Functions> functions) {
  registered() = std::move(functions);
  newestOps().reset();
}

void registerFunction(nb::handle name, nb::object function, nb::dict effects, bool touchesWorld) {
  OpTraits traits;
  traits.touchesWorld = touchesWorld;
  for (auto [resource, writes] : effects)
    traits.effects.push_back({toName(resource, "effects"), nb::cast<bool>(writes)});
  auto functions = std::make_shared<Functions>(*registered());
  (*functions)[toName(name, "register_op")] = {std::make_shared<SharedObject>(std::move(function)),
                                               std::move(traits)};
  replaceFunctions(std::move(functions));
}

bool forgetFunction(nb::handle name) {
  auto functions = std::make_shared<Functions>(*registered());
  bool wasThere = functions->erase(toName(name, "unregister_op")) > 0;
  if (wasThere)
    replaceFunctions(std::move(functions));
  return wasThere;
}

} // namespace

std::shared_ptr<const RegisteredOps> currentOps() {
  if (!newestOps())
    newestOps() = makeOps();
  return newestOps();
}

void bindOps(nb::module_ &module) {
  module.def("_register_function", registerFunction, nb::arg("name"), nb::arg("fn"),
             nb::arg("effects"), nb::arg("world"));
  module.def("_forget_function", forgetFunction, nb::arg("name"));
}

} // namespace treadle::python
