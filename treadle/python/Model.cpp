// treadle._native.Model, the native part of treadle.Model in _model.py.
#include "treadle/python/Arrays.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Interrupt.h"
#include "treadle/python/Module.h"
#include "treadle/tensor/ByName.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace nb = nanobind;

namespace treadle::python {

namespace {

nb::dict describe(const std::vector<std::pair<std::string, Graph::Value>> &entries) {
  nb::dict values;
  for (const auto &[key, value] : entries)
    values[key.c_str()] = toValue(value);
  return values;
}

using NamedValue = std::pair<std::string, Graph::Value>;

/// Returns the names that callers use: composite tensors appear once, with their own name.
const std::string &nameOf(const NamedValue &entry) {
  return entry.second.composite.empty() ? entry.first : entry.second.composite;
}

nb::list namesOf(const std::vector<NamedValue> &entries) {
  nb::list names;
  for (size_t i = 0; i < entries.size(); ++i)
    if (i == 0 || nameOf(entries[i]) != nameOf(entries[i - 1]))
      names.append(nameOf(entries[i]));
  return names;
}

nb::object composites(const char *function) {
  return nb::module_::import_("treadle._composites").attr(function);
}

/// Returns the components of the composite tensor `name`; empty if there is none.
std::vector<const NamedValue *> componentsOf(const std::vector<NamedValue> &entries,
                                             const std::string &name) {
  std::vector<const NamedValue *> components;
  for (const NamedValue &entry : entries)
    if (!name.empty() && entry.second.composite == name)
      components.push_back(&entry);
  return components;
}

/// Returns the part of each name after the dot: `values` of `x.values`.
nb::list partNames(const std::vector<const NamedValue *> &components) {
  nb::list names;
  for (const NamedValue *component : components)
    names.append(component->first.substr(component->second.composite.size() + 1));
  return names;
}

class PyModel {
public:
  PyModel(nb::handle path, const std::vector<std::string> &tags, std::optional<int> threads,
          std::optional<std::vector<int>> cores, const std::string &tier,
          const std::string &loopOverlap, std::optional<double> timeout, bool statistics,
          bool trace, bool fastMath, const std::string &denormals, std::optional<int64_t> memory,
          nb::handle allowRead, nb::handle allowWrite, bool allowClock);

  nb::dict signatures() const;
  nb::dict call(const std::string &signature, nb::dict inputs);
  nb::dict functions() const;
  std::string functionName(const std::string &name) const {
    Expected<const ModelFunction *> found = model.function(name);
    return found ? (*found)->name : "";
  }
  nb::object callFunction(const std::string &function, nb::dict inputs);
  void save(nb::handle folder);
  nb::object session() const { return toSession(model.session(), ops); }

private:
  std::shared_ptr<const RegisteredOps> ops; // declared before the model, which refers to it
  Model model;
};

Model loadModel(const std::string &path, const SessionOptions &options,
                const std::vector<std::string> &tags) {
  Expected<Model> model = [&] {
    nb::gil_scoped_release release;
    return Model::load(path, options, tags);
  }();
  return orRaise(std::move(model));
}

PyModel::PyModel(nb::handle path, const std::vector<std::string> &tags, std::optional<int> threads,
                 std::optional<std::vector<int>> cores, const std::string &tier,
                 const std::string &loopOverlap, std::optional<double> timeout, bool statistics,
                 bool trace, bool fastMath, const std::string &denormals,
                 std::optional<int64_t> memory, nb::handle allowRead, nb::handle allowWrite,
                 bool allowClock)
    : ops(currentOps()),
      model(loadModel(toPath(path),
                      sessionOptions(threads, std::move(cores), tier, loopOverlap, timeout,
                                     statistics, trace, fastMath, denormals, memory,
                                     toPermissions(allowRead, allowWrite, allowClock), *ops),
                      tags)) {}

nb::dict PyModel::signatures() const { return toDict(model.signatures()); }

nb::dict PyModel::call(const std::string &name, nb::dict inputs) {
  const Graph::Signature &signature = *orRaise(model.signature(name));
  Model::Values values = toInputs(signature, inputs);
  return toOutputs(signature,
                   interruptibly(model.session(), [&] { return model.call(name, values); }));
}

using FunctionVariant = ModelFunction::Variant;

nb::tuple describe(const FunctionVariant &variant) {
  nb::dict fixed;
  for (const ModelFunction::Fixed &argument : variant.fixed)
    fixed[argument.name.c_str()] = nb::make_tuple(argument.value, argument.isDefault);
  return nb::make_tuple(variant.signature.name, describe(variant.signature.inputs), fixed,
                        describe(variant.signature.outputs), variant.problem);
}

/// Converts arguments to tensors, None to an empty one, with the dtypes of a variant if one is
/// given.
Model::Values toArguments(const FunctionVariant *variant, nb::dict inputs) {
  nb::dict given;
  Model::Values values;
  for (auto [key, value] : inputs)
    if (value.is_none())
      values.emplace_back(toName(key, "the arguments"), Tensor());
    else
      given[key] = value;
  Graph::Signature signature = variant ? variant->signature : Graph::Signature();
  for (auto &value : toInputs(signature, given))
    values.push_back(std::move(value));
  return values;
}

/// Converts the arguments for the first variant that accepts them after conversion.
std::optional<Model::Values> convertedArguments(const ModelFunction &function, nb::dict inputs) {
  for (const FunctionVariant &variant : function.variants) {
    try {
      Model::Values values = toArguments(&variant, inputs);
      ModelFunction alone{function.name, function.arguments, {variant}};
      if (Model::choose(alone, values))
        return values;
    } catch (const std::exception &) { // not convertible for this variant
    }
  }
  return std::nullopt;
}

bool hasComposite(const ModelFunction &function, nb::dict inputs) {
  return std::ranges::any_of(function.variants, [&](const FunctionVariant &variant) {
    return std::ranges::any_of(variant.signature.inputs, [&](const NamedValue &input) {
      return inputs.contains(input.second.composite.c_str());
    });
  });
}

/// Prefer a variant that accepts the arguments without conversion to one that requires it, for
/// example of a list of numbers.
Model::Values chooseArguments(const ModelFunction &function, nb::dict inputs) {
  if (function.variants.size() == 1)
    return toArguments(&function.variants.front(), inputs);
  if (hasComposite(function, inputs)) {
    auto found = convertedArguments(function, inputs);
    return found ? std::move(*found) : toArguments(&function.variants.front(), inputs);
  }
  Model::Values asGiven = toArguments(nullptr, inputs);
  if (Model::choose(function, asGiven))
    return asGiven;
  return convertedArguments(function, inputs).value_or(std::move(asGiven));
}

/// Nests the values in order as in Python.
nb::object nested(const ModelFunction::Structure &structure, nb::handle values, size_t &next) {
  using Structure = ModelFunction::Structure;
  if (structure.kind == Structure::None || next >= nb::len(values))
    return nb::none();
  if (structure.kind == Structure::Value)
    return nb::object(values[next++]);
  nb::dict byKey;
  nb::list inOrder;
  for (size_t i = 0; i < structure.parts.size(); ++i) {
    nb::object part = nested(structure.parts[i], values, next);
    inOrder.append(part);
    byKey[structure.keys[i].c_str()] = part;
  }
  if (structure.kind == Structure::Dict)
    return byKey;
  return structure.kind == Structure::Tuple ? nb::object(nb::tuple(inOrder)) : nb::object(inOrder);
}

nb::dict PyModel::functions() const {
  nb::dict all;
  for (const ModelFunction &function : model.functions()) {
    nb::list variants;
    for (const FunctionVariant &variant : function.variants)
      variants.append(describe(variant));
    nb::set together;
    for (const FunctionVariant &variant : function.variants)
      for (const auto &[key, value] : variant.signature.inputs)
        if (!value.composite.empty())
          together.add(value.composite);
    all[function.name.c_str()] = nb::make_tuple(nb::cast(function.arguments), variants, together);
  }
  return all;
}

nb::object PyModel::callFunction(const std::string &name, nb::dict inputs) {
  const ModelFunction &function = *orRaise(model.function(name));
  Model::Values arguments = chooseArguments(function, inputs);
  Session session = orRaise(model.functionSession());
  Model::Values values =
      interruptibly(session, [&] { return model.callFunction(function.name, arguments); });
  const FunctionVariant *variant = orRaise(Model::choose(function, arguments));
  size_t next = 0;
  nb::object results = toOutputs(variant->signature, std::move(values)).values();
  return nested(variant->result, results, next);
}

void PyModel::save(nb::handle folder) {
  std::string path = folder.is_none() ? "" : toPath(folder);
  interruptibly(model.session(),
                [&] { return folder.is_none() ? model.save() : model.save(path); });
}

} // namespace

nb::dict toDict(const std::vector<Graph::Signature> &signatures) {
  nb::dict all;
  for (const Graph::Signature &signature : signatures)
    all[signature.name.c_str()] = nb::make_tuple(
        describe(signature.inputs), describe(signature.outputs), namesOf(signature.inputs));
  return all;
}

/// Splits composite tensors into the names and values of single tensors.
static std::vector<std::pair<std::string, nb::object>>
takeApart(const Graph::Signature &signature, const std::string &name, nb::object value) {
  std::vector<std::pair<std::string, nb::object>> single;
  if (auto components = componentsOf(signature.inputs, name); !components.empty()) {
    nb::object parts = composites("take_apart")(value, name, partNames(components));
    for (size_t i = 0; i < components.size(); ++i)
      single.emplace_back(components[i]->first, parts[i]);
    return single;
  }
  if (isArray(value)) // most are, and the check in Python is slow
    return {{name, std::move(value)}};
  // TensorFlow names the components of a signature's input `x`, `x_1`, ...
  nb::object parts = composites("flat_parts")(value);
  if (parts.is_none())
    return {{name, std::move(value)}};
  for (size_t i = 0; i < nb::len(parts); ++i)
    single.emplace_back(i == 0 ? name : str(name, "_", i), parts[i]);
  return single;
}

static Tensor toInput(const Graph::Value *wanted, const std::string &key, nb::handle value) {
  TensorConversion request{str("input '", key, "'"), std::nullopt};
  if (wanted)
    request.want = wanted->dtype;
  return toTensor(value, request);
}

Model::Values toInputs(const Graph::Signature &signature, nb::dict inputs) {
  ByName wanted(signature.inputs);
  Model::Values values;
  for (auto [name, value] : inputs)
    for (auto &[key, single] : takeApart(signature, toName(name, "the inputs"), nb::borrow(value)))
      values.emplace_back(key, toInput(wanted.find(key), key, single));
  return values;
}

nb::dict toOutputs(const Graph::Signature &signature, Model::Values values) {
  nb::dict arrays;
  for (size_t i = 0; i < values.size();) {
    const NamedValue &entry = signature.outputs[i];
    auto next = [&] {
      auto &[key, value] = values[i++];
      return toArray(std::move(value), str("output '", key, "'"));
    };
    if (entry.second.composite.empty()) {
      arrays[nameOf(entry).c_str()] = next();
      continue;
    }
    auto components = componentsOf(signature.outputs, entry.second.composite);
    nb::list parts;
    for (size_t count = components.size(); count > 0; --count)
      parts.append(next());
    arrays[nameOf(entry).c_str()] = composites("put_together")(parts, partNames(components));
  }
  return arrays;
}

void bindModel(nb::module_ &module) {
  nb::class_<PyModel>(module, "_Model")
      .def(nb::init<nb::handle, const std::vector<std::string> &, std::optional<int>,
                    std::optional<std::vector<int>>, const std::string &, const std::string &,
                    std::optional<double>, bool, bool, bool, const std::string &,
                    std::optional<int64_t>, nb::handle, nb::handle, bool>(),
           nb::arg("path"), nb::arg("tags"), nb::arg("threads").none(), nb::arg("cores").none(),
           nb::arg("tier"), nb::arg("loop_overlap"), nb::arg("timeout").none(),
           nb::arg("statistics"), nb::arg("trace"), nb::arg("fast_math"), nb::arg("denormals"),
           nb::arg("memory").none(), nb::arg("allow_read").none(), nb::arg("allow_write").none(),
           nb::arg("allow_clock"))
      .def("signatures", &PyModel::signatures,
           "Returns by name the inputs and the outputs, each by key.")
      .def("call", &PyModel::call, "Signature.__call__.")
      .def(
          "functions", &PyModel::functions,
          "Returns by name the arguments by position, and for each variant its name, inputs, fixed "
          "arguments (value, whether it is the default), outputs, and why it can't be called.")
      .def("function_name", &PyModel::functionName,
           "Returns the name of the function with this path or alias; empty if there is none.")
      .def("call_function", &PyModel::callFunction, "Function.__call__.")
      .def("save", &PyModel::save, nb::arg("folder").none(), "Model.save.")
      .def("session", &PyModel::session, "Model.session.");
}

} // namespace treadle::python
