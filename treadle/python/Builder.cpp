// The native part of treadle.Builder: values, nodes and bodies. Loops, conditionals and functions
// are in _builder.py.
#include "treadle/Builder.h"

#include "treadle/ops/OpTable.h"
#include "treadle/python/Arrays.h"
#include "treadle/python/Attributes.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Module.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace treadle::python {

using namespace builder;
namespace {

/// A builder, shared by its values.
struct PyBuilder {
  Builder builder;

  template <typename T> T checked(T result) {
    check();
    return result;
  }
  void check() {
    if (std::optional<Error> error = builder.takeError())
      raise(*error);
  }
};

using Owner = std::shared_ptr<PyBuilder>;

struct PyOutput {
  Owner owner;
  Output value;
};

struct PyOperation {
  Owner owner;
  Operation node;
};

struct PyVariable {
  Owner owner;
  Variable variable;
};

struct PyLoop {
  Owner owner;
  Loop loop;
};

struct PyBranches {
  Owner owner;
  Branches branches;
};

struct PyFunction {
  Owner owner;
  Function function;
};

// ---- conversion from Python

DType toDType(nb::handle value) { return std::get<TypeAttr>(toAttr("Identity", "T", value)).dtype; }

PartialShape toShape(nb::handle value) {
  return std::get<PartialShape>(toAttr("Placeholder", "shape", value));
}

bool isSequence(nb::handle value) {
  return PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
}

bool isGraphValue(nb::handle value) {
  return nb::isinstance<PyOutput>(value) || nb::isinstance<PyVariable>(value) ||
         nb::isinstance<PyOperation>(value);
}

/// Whether a list contains a value of the graph at any depth.
bool hasGraphValue(nb::handle value) {
  if (!isSequence(value))
    return isGraphValue(value);
  for (nb::handle element : value)
    if (hasGraphValue(element))
      return true;
  return false;
}

/// Converts a literal. Python numbers get the expected dtype, or int32 and float32; arrays keep
/// theirs, except that floating-point arrays are converted to another floating-point dtype, and
/// integer arrays to another integer dtype that can represent them.
Tensor literalTensor(nb::handle value, DType want) {
  TensorConversion request{"the value", std::nullopt, false};
  if (want != DType::Invalid)
    request.want = want;
  bool isArray = nb::hasattr(value, "dtype");
  nb::object array = nb::module_::import_("numpy").attr("asarray")(value);
  std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (want == DType::Invalid && !isArray) {
    if (kind == "i" || kind == "u")
      request.want = DType::Int32;
    else if (kind == "f")
      request.want = DType::Float32;
  }
  if (isArray && request.want && *request.want != DType::Invalid) {
    if (kind == "f" && isFloating(*request.want))
      return toTensor(array.attr("astype")(numpyDtype(*request.want)), request);
    if ((kind == "i" || kind == "u") && (isInteger(*request.want) || isFloating(*request.want)))
      return toTensor(array.attr("tolist")(), request);
  }
  return toTensor(value, request);
}

Input toInput(const Owner &owner, nb::handle value) {
  if (nb::isinstance<PyOutput>(value))
    return nb::cast<PyOutput &>(value).value;
  if (nb::isinstance<PyVariable>(value))
    return nb::cast<PyVariable &>(value).variable;
  if (nb::isinstance<PyOperation>(value))
    return nb::cast<PyOperation &>(value).node;
  if (hasGraphValue(value)) {
    std::vector<Input> elements;
    for (nb::handle element : value)
      elements.push_back(toInput(owner, element));
    Output packed = owner->builder.pack(elements);
    owner->check();
    return packed;
  }
  if (value.is_none() || PyCallable_Check(value.ptr()))
    raiseTypeError(str("a ", typeName(value),
                       " was passed, expected a value of the graph, a number or an array"));
  return Input::Literal([held = nb::borrow(value)](DType want) -> Expected<Tensor> {
    return literalTensor(held, want);
  });
}

/// Returns the inputs of an op, grouped into lists where the op takes lists.
std::vector<Input> toInputs(const Owner &owner, const OpDef *def, nb::handle inputs,
                            AttrMap &attrs) {
  std::vector<nb::object> given;
  for (nb::handle input : inputs)
    given.push_back(nb::borrow(input));
  bool isNested = def && given.size() == def->inputs().size();
  auto isList = [](const ArgDef &a) {
    return !a.numberAttr().empty() || !a.typeListAttr().empty();
  };
  for (size_t i = 0; isNested && i < given.size(); ++i)
    isNested = !isList(def->inputs()[i]) || isSequence(given[i]);
  std::vector<Input> out;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!isNested || !isList(def->inputs()[i])) {
      out.push_back(toInput(owner, given[i]));
      continue;
    }
    for (nb::handle element : given[i])
      out.push_back(toInput(owner, element));
    std::string_view number = def->inputs()[i].numberAttr();
    if (!number.empty() && !attrs.has(number))
      attrs.set(number, static_cast<int64_t>(nb::len(given[i])));
  }
  return out;
}

// ---- conversion to Python

nb::object wrap(const Owner &owner, Output value) { return nb::cast(PyOutput{owner, value}); }

bool returnsList(const OpDef *def) {
  if (!def || def->outputs().size() != 1)
    return false;
  const ArgDef &output = def->outputs()[0];
  return !output.numberAttr().empty() || !output.typeListAttr().empty();
}

/// Returns the node's value, a tuple of several, or the node itself if it has none.
nb::object results(const Owner &owner, const Operation &node, bool isList) {
  const std::vector<Output> &outputs = node.outputs();
  if (outputs.size() == 1 && !isList)
    return wrap(owner, outputs[0]);
  if (outputs.empty())
    return nb::cast(PyOperation{owner, node});
  nb::list values;
  for (const Output &output : outputs)
    values.append(wrap(owner, output));
  return nb::tuple(values);
}

nb::object addOp(const Owner &owner, const std::string &op, nb::handle inputs,
                 const std::string &name, nb::dict attrs, nb::handle outputs) {
  Builder::Node node{op, {}, {}, name, {}};
  for (auto [key, value] : attrs) {
    std::string text = toName(key, "attrs");
    node.attrs.set(text, toAttr(op, text, value));
  }
  for (nb::handle dtype : outputs)
    node.outputs.push_back(toDType(dtype));
  const OpDef *def = lookupOp(op);
  node.inputs = toInputs(owner, def, inputs, node.attrs);
  return results(owner, owner->checked(owner->builder.op(std::move(node))), returnsList(def));
}

std::string shapeText(const PartialShape &shape) {
  return shape.hasRank ? shape.text() : " of unknown shape";
}

nb::object shapeObject(const PartialShape &shape) { return attrObject(shape); }

std::vector<Operation> toOperations(const Owner &owner, nb::handle values) {
  std::vector<Operation> out;
  for (nb::handle value : values) {
    if (nb::isinstance<PyOperation>(value))
      out.push_back(nb::cast<PyOperation &>(value).node);
    else if (nb::isinstance<PyOutput>(value))
      out.push_back(owner->checked(owner->builder.operationOf(nb::cast<PyOutput &>(value).value)));
    else
      raiseTypeError(str("a ", typeName(value),
                         " is not a node to wait for; expected an Operation or an Output"));
  }
  return out;
}

// ---- operators of values and variables

const Owner &ownerOf(const PyOutput &value) { return value.owner; }
const Owner &ownerOf(const PyVariable &variable) { return variable.owner; }
Input inputOf(const PyOutput &value) { return value.value; }
Input inputOf(const PyVariable &variable) { return variable.variable; }
DType dtypeOf(const PyOutput &value) { return value.value.dtype(); }
DType dtypeOf(const PyVariable &variable) { return variable.variable.dtype(); }

/// The Python method, and the symbol of the operator in the op table.
struct Operator {
  const char *method, *reflected;
  std::string_view symbol;
  std::string_view onBool = symbol; // the symbol for bools, if different
};

constexpr Operator binaryOperators[] = {
    {"__add__", "__radd__", "+"},       {"__sub__", "__rsub__", "-"},
    {"__mul__", "__rmul__", "*"},       {"__floordiv__", "__rfloordiv__", "//"},
    {"__mod__", "__rmod__", "%"},       {"__pow__", "__rpow__", "**"},
    {"__and__", "__rand__", "&", "&&"}, {"__or__", "__ror__", "|", "||"},
    {"__xor__", "__rxor__", "^", "!="}, {"__lt__", nullptr, "<"},
    {"__le__", nullptr, "<="},          {"__gt__", nullptr, ">"},
    {"__ge__", nullptr, ">="},          {"__eq__", nullptr, "=="},
    {"__ne__", nullptr, "!="},
};

constexpr Operator unaryOperators[] = {
    {"__neg__", nullptr, "-"}, {"__abs__", nullptr, "abs"}, {"__invert__", nullptr, "~", "!"}};

nb::object apply(const Owner &owner, std::string_view op, std::vector<Input> inputs) {
  return wrap(owner,
              owner->checked(owner->builder.op({std::string(op), std::move(inputs)})).output(0));
}

template <typename T>
nb::object apply(const T &self, const Operator &entry, std::vector<Input> inputs) {
  std::string_view symbol = dtypeOf(self) == DType::Bool ? entry.onBool : entry.symbol;
  return apply(ownerOf(self), operatorOp(symbol, inputs.size()), std::move(inputs));
}

nb::object matmul(const Owner &owner, const Input &x, int64_t rankX, const Input &y,
                  int64_t rankY) {
  bool areMatrices = rankX == 2 && rankY == 2;
  return apply(owner, areMatrices ? "MatMul" : "BatchMatMulV2", {x, y});
}

int64_t rankOf(const PartialShape &shape) {
  return shape.hasRank ? static_cast<int64_t>(shape.dims.size()) : -1;
}

int64_t rankOf(nb::handle value) {
  if (nb::isinstance<PyOutput>(value))
    return rankOf(nb::cast<PyOutput &>(value).value.shape());
  if (nb::isinstance<PyVariable>(value))
    return rankOf(nb::cast<PyVariable &>(value).variable.shape());
  nb::object array = nb::module_::import_("numpy").attr("asarray")(value);
  return nb::cast<int64_t>(array.attr("ndim"));
}

template <typename T> void bindOperators(nb::class_<T> &type) {
  for (const Operator &entry : binaryOperators) {
    auto call = [&entry](const T &self, nb::handle other, bool isReflected) {
      Input x = inputOf(self), y = toInput(ownerOf(self), other);
      if (isReflected)
        std::swap(x, y);
      return apply(self, entry, {x, y});
    };
    type.def(
        entry.method, [call](const T &self, nb::handle other) { return call(self, other, false); },
        nb::is_operator(), nb::arg("other").none());
    if (entry.reflected)
      type.def(
          entry.reflected,
          [call](const T &self, nb::handle other) { return call(self, other, true); },
          nb::is_operator());
  }
  for (const Operator &entry : unaryOperators)
    type.def(entry.method, [&entry](const T &self) { return apply(self, entry, {inputOf(self)}); });
  type.def(
          "__truediv__",
          [](const T &self, nb::handle other) {
            const Owner &owner = ownerOf(self);
            Input divisor = toInput(owner, other);
            return wrap(owner, owner->checked(owner->builder.divide(inputOf(self), divisor)));
          },
          nb::is_operator())
      .def(
          "__rtruediv__",
          [](const T &self, nb::handle other) {
            const Owner &owner = ownerOf(self);
            Input dividend = toInput(owner, other);
            return wrap(owner, owner->checked(owner->builder.divide(dividend, inputOf(self))));
          },
          nb::is_operator())
      .def(
          "__matmul__",
          [](nb::handle self, nb::handle other) {
            const T &x = nb::cast<const T &>(self);
            return matmul(ownerOf(x), inputOf(x), rankOf(self), toInput(ownerOf(x), other),
                          rankOf(other));
          },
          nb::is_operator())
      .def(
          "__rmatmul__",
          [](nb::handle self, nb::handle other) {
            const T &y = nb::cast<const T &>(self);
            return matmul(ownerOf(y), toInput(ownerOf(y), other), rankOf(other), inputOf(y),
                          rankOf(self));
          },
          nb::is_operator())
      // Identity: values can be compared only when the graph runs.
      .def("__hash__", [](nb::handle self) { return reinterpret_cast<size_t>(self.ptr()) >> 4; });
}

// ---- the classes

void bindValues(nb::module_ &module) {
  nb::class_<PyOutput> output(module, "Output", "A value of a graph under construction.");
  output
      .def_prop_ro(
          "name", [](const PyOutput &v) { return v.value.name(); },
          "The name to fetch it by: `x:0`.")
      .def_prop_ro(
          "dtype", [](const PyOutput &v) { return std::string(dtypeName(v.value.dtype())); },
          "The name of the dtype: `float32`.")
      .def_prop_ro(
          "shape", [](const PyOutput &v) { return shapeObject(v.value.shape()); },
          "A tuple with None for unknown dimensions, or None for unknown rank.")
      .def_prop_ro("op",
                   [](const PyOutput &v) {
                     return PyOperation{v.owner,
                                        v.owner->checked(v.owner->builder.operationOf(v.value))};
                   })
      .def_prop_ro("_builder", [](const PyOutput &v) { return v.owner; })
      .def("__repr__", [](const PyOutput &v) {
        return str("<treadle.Output '", v.value.name(), "' ", dtypeName(v.value.dtype()),
                   shapeText(v.value.shape()), ">");
      });
  bindOperators(output);
  nb::class_<PyOperation>(module, "Operation",
                          "A node of a graph under construction, for control dependencies.")
      .def_prop_ro(
          "name", [](const PyOperation &o) { return o.node.name(); },
          "The name of the node, for targets of runs.")
      .def("__repr__",
           [](const PyOperation &o) { return str("<treadle.Operation '", o.node.name(), "'>"); });
  nb::class_<PyVariable> variable(
      module, "Variable",
      "A resource variable of a graph under construction; it is read where a value is expected.");
  using Assign = builder::Operation (Variable::*)(const Input &) const;
  auto assigner = [](Assign method) {
    return [method](const PyVariable &v, nb::handle value) {
      Input input = toInput(v.owner, value);
      return PyOperation{v.owner, v.owner->checked((v.variable.*method)(input))};
    };
  };
  variable
      .def_prop_ro(
          "name", [](const PyVariable &v) { return v.variable.name(); },
          "The name of the variable in sessions.")
      .def_prop_ro(
          "dtype", [](const PyVariable &v) { return std::string(dtypeName(v.variable.dtype())); },
          "The name of the dtype: `float32`.")
      .def_prop_ro(
          "shape", [](const PyVariable &v) { return shapeObject(v.variable.shape()); },
          "The shape, as in Output.shape.")
      .def_prop_ro(
          "handle", [](const PyVariable &v) { return wrap(v.owner, v.variable.handle()); },
          "The resource handle, for ops that take one; they accept the variable too.")
      .def_prop_ro("_builder", [](const PyVariable &v) { return v.owner; })
      .def("read",
           [](const PyVariable &v) { return wrap(v.owner, v.owner->checked(v.variable.read())); })
      .def("assign", assigner(&Variable::assign), nb::arg("value"),
           "Assigns a value at this point.")
      .def("assign_add", assigner(&Variable::assignAdd), nb::arg("value"),
           "Adds to the value at this point.")
      .def("assign_sub", assigner(&Variable::assignSub), nb::arg("value"),
           "Subtracts from the value at this point.")
      .def("__repr__", [](const PyVariable &v) {
        return str("<treadle.Variable '", v.variable.name(), "' ", dtypeName(v.variable.dtype()),
                   shapeText(v.variable.shape()), ">");
      });
  bindOperators(variable);
}

void bindBodies(nb::module_ &module) {
  nb::class_<PyLoop>(module, "_Loop")
      .def("get",
           [](const PyLoop &l, const std::string &name) {
             return wrap(l.owner, l.owner->checked(l.loop[name]));
           })
      .def(
          "set",
          [](PyLoop &l, const std::string &name, nb::handle value) {
            l.loop.set(name, toInput(l.owner, value));
            l.owner->check();
          },
          nb::arg(), nb::arg().none())
      .def(
          "condition",
          [](PyLoop &l, nb::handle value) {
            l.loop.condition(toInput(l.owner, value));
            l.owner->check();
          },
          nb::arg().none())
      .def("end",
           [](PyLoop &l) {
             l.loop.end();
             l.owner->check();
           })
      .def("abandon", [](PyLoop &l) { l.loop.abandon(); });
  nb::class_<PyBranches>(module, "_Branches")
      .def("get",
           [](const PyBranches &b, const std::string &name) {
             return wrap(b.owner, b.owner->checked(b.branches[name]));
           })
      .def(
          "set",
          [](PyBranches &b, const std::string &name, nb::handle value) {
            b.branches.set(name, toInput(b.owner, value));
            b.owner->check();
          },
          nb::arg(), nb::arg().none())
      .def("begin",
           [](PyBranches &b) {
             b.branches.begin();
             b.owner->check();
           })
      .def("end_branch",
           [](PyBranches &b) {
             b.branches.endBranch();
             b.owner->check();
           })
      .def("end",
           [](PyBranches &b) {
             b.branches.end();
             b.owner->check();
           })
      .def("abandon", [](PyBranches &b) { b.branches.abandon(); });
  nb::class_<PyFunction>(module, "_Function")
      .def_prop_ro("name", [](const PyFunction &f) { return f.function.name(); })
      .def_prop_ro("arguments",
                   [](const PyFunction &f) {
                     nb::list out;
                     for (const Output &argument : f.function.arguments())
                       out.append(wrap(f.owner, argument));
                     return out;
                   })
      .def("end",
           [](PyFunction &f, nb::list values) {
             std::vector<Input> inputs;
             for (nb::handle value : values)
               inputs.push_back(toInput(f.owner, value));
             f.function.end(inputs);
             f.owner->check();
           })
      .def("abandon", [](PyFunction &f) { f.function.abandon(); });
}

Variable makeVariable(const Owner &owner, const std::string &name, nb::handle init,
                      nb::handle dtype, nb::handle shape) {
  Builder &builder = owner->builder;
  if (init.is_none())
    return builder.variable(name, toDType(dtype), toShape(shape));
  auto typed = [&](nb::handle value) -> Input {
    if (dtype.is_none() || hasGraphValue(value))
      return toInput(owner, value);
    return literalTensor(value, toDType(dtype));
  };
  if (PyCallable_Check(init.ptr()) && !isGraphValue(init))
    return builder.variable(name,
                            [&]() -> Input { return typed(nb::borrow<nb::callable>(init)()); });
  return builder.variable(name, typed(init));
}

} // namespace

void bindBuilder(nb::module_ &module) {
  bindValues(module);
  bindBodies(module);
  nb::class_<PyBuilder>(module, "_Builder")
      .def(nb::new_([]() { return std::make_shared<PyBuilder>(); }))
      .def(
          "_placeholder",
          [](const Owner &b, const std::string &name, nb::handle dtype, nb::handle shape) {
            return wrap(b,
                        b->checked(b->builder.placeholder(name, toDType(dtype), toShape(shape))));
          },
          nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "_constant",
          [](const Owner &b, nb::handle value, nb::handle dtype, const std::string &name) {
            DType want = dtype.is_none() ? DType::Invalid : toDType(dtype);
            return wrap(b, b->checked(b->builder.constant(literalTensor(value, want), name)));
          },
          nb::arg(), nb::arg().none(), nb::arg())
      .def(
          "_variable",
          [](const Owner &b, const std::string &name, nb::handle init, nb::handle dtype,
             nb::handle shape) {
            return PyVariable{b, b->checked(makeVariable(b, name, init, dtype, shape))};
          },
          nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def("_op", addOp)
      .def("_cast",
           [](const Owner &b, nb::handle value, nb::handle dtype) {
             return wrap(b, b->checked(b->builder.cast(toInput(b, value), toDType(dtype))));
           })
      .def("_while_loop",
           [](const Owner &b, const std::string &name, nb::dict variables, nb::dict shapes,
              int64_t parallelIterations) {
             Builder::LoopSpec spec{name, {}, parallelIterations};
             for (auto [key, init] : variables) {
               Builder::LoopVariable variable{toName(key, "variables"), toInput(b, init)};
               if (shapes.contains(key))
                 variable.shape = toShape(shapes[key]);
               spec.variables.push_back(std::move(variable));
             }
             return PyLoop{b, b->checked(b->builder.whileLoop(std::move(spec)))};
           })
      .def("_cond",
           [](const Owner &b, nb::handle predicate, const std::string &name) {
             return PyBranches{b, b->checked(b->builder.cond(toInput(b, predicate), name))};
           })
      .def("_switch_case",
           [](const Owner &b, nb::handle index, const std::string &name) {
             return PyBranches{b, b->checked(b->builder.switchCase(toInput(b, index), name))};
           })
      .def("_function",
           [](const Owner &b, const std::string &name, nb::list arguments) {
             std::vector<Builder::Argument> out;
             for (nb::handle argument : arguments)
               out.push_back({nb::cast<std::string>(argument[0]), toDType(argument[1]),
                              toShape(argument[2])});
             return PyFunction{b, b->checked(b->builder.function(name, out))};
           })
      .def(
          "_call",
          [](const Owner &b, const PyFunction &function, nb::list values, const std::string &name) {
            std::vector<Input> inputs;
            for (nb::handle value : values)
              inputs.push_back(toInput(b, value));
            nb::list out;
            Operation node = b->checked(b->builder.call(function.function, inputs, name));
            for (const Output &output : node.outputs())
              out.append(wrap(b, output));
            return std::pair(PyOperation{b, node}, out);
          })
      .def("_group",
           [](const Owner &b, nb::list values, const std::string &name) {
             return PyOperation{b, b->checked(b->builder.group(toOperations(b, values), name))};
           })
      .def("_effects",
           [](const Owner &b, const std::string &name) {
             return PyOperation{b, b->checked(b->builder.effects(name))};
           })
      .def("_gradients",
           [](const Owner &b, nb::list ys, nb::list xs, nb::list gradYs) {
             auto inputs = [&](nb::list values) {
               std::vector<Input> out;
               for (nb::handle value : values)
                 out.push_back(toInput(b, value));
               return out;
             };
             nb::list out;
             for (const Output &x :
                  b->checked(b->builder.gradients(inputs(ys), inputs(xs), inputs(gradYs))))
               out.append(x ? wrap(b, x) : nb::none());
             return out;
           })
      .def("_push_scope",
           [](const Owner &b, const std::string &name) {
             b->builder.pushScope(name);
             b->check();
           })
      .def("_pop_scope", [](const Owner &b) { b->builder.popScope(); })
      .def("_push_control",
           [](const Owner &b, nb::list values) {
             b->builder.pushControl(toOperations(b, values));
             b->check();
           })
      .def("_pop_control", [](const Owner &b) { b->builder.popControl(); })
      .def("_build", [](const Owner &b) { return orRaise(b->builder.build()); });
}

} // namespace treadle::python
