// treadle.register_op and treadle.unregister_op: kernels in Python.
#include "treadle/python/Arrays.h"
#include "treadle/python/Attributes.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Module.h"

#include "treadle/ops/OpTable.h"
#include "treadle/runtime/DenormalScope.h"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <map>

namespace nb = nanobind;

namespace treadle::python {

namespace {

// A Python object that any thread may release.
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

// Registered functions by op, or by PyFunc's token. Guarded by the GIL, and never freed, since the
// interpreter may be gone first at exit.
struct Registered {
  std::shared_ptr<SharedObject> function;
  OpTraits traits;
  std::vector<std::string> outputs; // the op's outputs by name; empty: unknown
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

// Attributes that begin with an underscore are annotations of tools and are not passed as keywords.
nb::dict attrDict(const AttrMap &attrs) {
  nb::dict out;
  for (const auto &[name, value] : attrs)
    if (!name.starts_with('_'))
      out[name.c_str()] = attrObject(value, Dtypes::Numpy);
  return out;
}

// --- the kernel --------------------------------------------------------------------------------

/// The result of the function that becomes an output of the node.
struct ResultIndex {
  size_t result;
  std::optional<size_t> element; // index in a list; nullopt: the result itself
};

struct PythonKernel {
  std::shared_ptr<SharedObject> function;
  std::shared_ptr<SharedObject> attrs; // a dict
  std::vector<DType> outputTypes;
  bool isDefined = true; // false: the op is unknown, and its outputs are those that are used
  bool hasLists = false; // whether a list among the results is several outputs
  std::vector<ResultIndex> picks; // by output; empty: the results in order
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

// Returns the results: none for None, several for a tuple, and otherwise one.
nb::tuple resultTuple(nb::object result) {
  if (result.is_none())
    return nb::tuple();
  if (PyTuple_Check(result.ptr()))
    return nb::borrow<nb::tuple>(result);
  return nb::make_tuple(std::move(result));
}

/// Returns null if the function returned no such value.
nb::object picked(const nb::tuple &results, ResultIndex pick) {
  if (pick.result >= results.size())
    return {};
  nb::object result = results[pick.result];
  if (!pick.element)
    return result;
  if (!nb::isinstance<nb::list>(result))
    return *pick.element == 0 ? result : nb::object();
  auto list = nb::borrow<nb::list>(result);
  return *pick.element < list.size() ? nb::object(list[*pick.element]) : nb::object();
}

nb::tuple flat(const nb::tuple &results) {
  nb::list values;
  for (nb::handle result : results)
    if (nb::isinstance<nb::list>(result))
      values.extend(result);
    else
      values.append(result);
  return nb::tuple(values);
}

void setOutputs(OpContext &ctx, const PythonKernel &kernel, nb::object result) {
  size_t count = kernel.outputTypes.size();
  bool isOneTuple =
      count == 1 && !kernel.hasLists && kernel.picks.empty() && nb::isinstance<nb::list>(result);
  nb::tuple results = isOneTuple ? nb::make_tuple(result) : resultTuple(std::move(result));
  if (kernel.hasLists && kernel.picks.empty())
    results = flat(results);
  if (kernel.isDefined ? results.size() != count : results.size() < count && kernel.picks.empty())
    return ctx.fail(invalidArgument("its Python function returned ", results.size(),
                                    " values, expected ", count,
                                    ": a tuple of one array per output"));
  for (size_t i = 0; i < count; ++i) {
    DType wanted = kernel.outputTypes[i];
    TensorConversion request{str("result ", i, " of its Python function")};
    if (wanted != DType::Invalid)
      request.want = wanted;
    nb::object value = picked(results, kernel.picks.empty() ? ResultIndex{i, {}} : kernel.picks[i]);
    if (!value)
      return ctx.fail(invalidArgument("its Python function returned no value for output ", i));
    ctx.setOutput(static_cast<int>(i), toTensor(value, request));
  }
}

void callPython(OpContext &ctx) {
  const PythonKernel &kernel = ctx.state<PythonKernel>();
  DenormalScope denormals(Denormals::Keep); // as elsewhere in Python
  nb::gil_scoped_acquire gil;
  try {
    setOutputs(ctx, kernel, callFunction(ctx, kernel));
  } catch (nb::python_error &raised) {
    ctx.fail(toError(raised));
  }
}

/// Maps the node's outputs to results if their names come from an op definition that isn't
/// available. The position is not needed if the op has a single output, which may be a list.
Expected<std::vector<ResultIndex>> resultIndices(const BindContext &node,
                                                 const std::vector<std::string> &outputs) {
  std::vector<ResultIndex> picks;
  std::span names = node.outputNames;
  std::string_view first = names.empty() ? std::string_view() : names[0];
  first = first.substr(0, first.find(':'));
  for (std::string_view name : names) {
    std::string_view output = name.substr(0, name.find(':'));
    size_t number = 0;
    std::from_chars(name.data() + output.size() + 1, name.data() + name.size(), number);
    if (outputs.empty() && output != first)
      return Unexpected(invalidArgument(
          "it has outputs '", first, "' and '", output,
          "', whose order is unknown; pass the names of the op's outputs in order to register_op"));
    auto found = std::ranges::find(outputs, output);
    if (outputs.empty())
      picks.push_back({number, {}});
    else if (found == outputs.end())
      return Unexpected(invalidArgument("its output '", output,
                                        "' is not among the outputs passed to register_op"));
    else
      picks.push_back({static_cast<size_t>(found - outputs.begin()), number});
  }
  return picks;
}

Expected<BoundKernel> bindPython(const Registered &registered, const BindContext &node) {
  std::vector<ResultIndex> picks = TREADLE_TRY(resultIndices(node, registered.outputs));
  nb::gil_scoped_acquire gil;
  try {
    auto attrs = std::make_shared<SharedObject>(attrDict(node.attrs));
    BoundKernel bound =
        boundWith(callPython, PythonKernel{registered.function,
                                           std::move(attrs),
                                           {node.outputTypes.begin(), node.outputTypes.end()},
                                           lookupOp(node.op) != nullptr,
                                           !registered.outputs.empty(),
                                           std::move(picks)});
    bound.isExpensive = true;
    return bound;
  } catch (nb::python_error &raised) {
    return Unexpected(toError(raised));
  }
}

// PyFunc names its function by a token; its own attributes are not passed to the function.
Expected<BoundKernel> bindToken(const std::shared_ptr<const Functions> &functions,
                                const BindContext &node) {
  std::string token = node.attrs.getOr<std::string>("token", "");
  auto found = functions->find(token);
  if (found == functions->end())
    return Unexpected(unimplemented("the Python function of token '", token,
                                    "' is missing in this process; call treadle.register_op('",
                                    token, "', fn) before the session is created"));
  BindContext bare = node;
  static const AttrMap none;
  return bindPython(found->second, BindContext{bare.node, bare.op, none, bare.inputTypes,
                                               bare.outputTypes, bare.device});
}

std::shared_ptr<const RegisteredOps> makeOps() {
  auto ops = std::make_shared<RegisteredOps>();
  KernelRegistry *kernels = &ops->kernels;
  std::shared_ptr<const Functions> functions = registered();
  for (const OpDef &op : allOps())
    if (op.facts().runsPython)
      kernels->add(std::string(op.name()),
                   [functions](const BindContext &node) { return bindToken(functions, node); });
  for (const auto &[op, entry] : *functions)
    kernels->add(op,
                 [functions, &entry](const BindContext &node) { return bindPython(entry, node); });
  for (const auto &[op, entry] : *functions)
    ops->traits.add(op, entry.traits);
  return ops;
}

void replaceFunctions(std::shared_ptr<const Functions> functions) {
  registered() = std::move(functions);
  newestOps().reset();
}

void registerFunction(nb::handle name, nb::object function, nb::dict effects, bool touchesWorld,
                      std::vector<std::string> outputs) {
  OpTraits traits;
  traits.touchesWorld = touchesWorld;
  for (auto [resource, writes] : effects)
    traits.effects.push_back({toName(resource, "effects"), nb::cast<bool>(writes)});
  auto functions = std::make_shared<Functions>(*registered());
  (*functions)[toName(name, "register_op")] = {std::make_shared<SharedObject>(std::move(function)),
                                               std::move(traits), std::move(outputs)};
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
             nb::arg("effects"), nb::arg("world"), nb::arg("outputs"));
  module.def("_forget_function", forgetFunction, nb::arg("name"));
}

} // namespace treadle::python
