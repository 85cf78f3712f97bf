// treadle._native.Model: what treadle.Model, in _model.py, is made of.
#include "treadle/python/Arrays.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Interrupt.h"
#include "treadle/python/Module.h"

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

class PyModel {
public:
  PyModel(nb::handle path, const std::vector<std::string> &tags, std::optional<int> threads,
          std::optional<std::vector<int>> cores, const std::string &tier,
          const std::string &loopOverlap, std::optional<double> timeout, bool statistics,
          bool trace, bool fastMath, std::optional<int64_t> memory, nb::handle allowRead,
          nb::handle allowWrite, bool allowClock);

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
  std::shared_ptr<const RegisteredOps> ops; // before the model, which refers to it
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
                 bool trace, bool fastMath, std::optional<int64_t> memory, nb::handle allowRead,
                 nb::handle allowWrite, bool allowClock)
    : ops(currentOps()),
      model(loadModel(toPath(path),
                      sessionOptions(threads, std::move(cores), tier, loopOverlap, timeout,
                                     statistics, trace, fastMath, memory,
                                     toPermissions(allowRead, allowWrite, allowClock), *ops),
                      tags)) {}

nb::dict PyModel::signatures() const { return toDict(model.signatures()); }

nb::dict PyModel::call(const std::string &name, nb::dict inputs) {
  Model::Values values = toInputs(*orRaise(model.signature(name)), inputs);
  return toOutputs(interruptibly(model.session(), [&] { return model.call(name, values); }));
}

using FunctionVariant = ModelFunction::Variant;

nb::tuple describe(const FunctionVariant &variant) {
  nb::dict fixed;
  for (const ModelFunction::Fixed &argument : variant.fixed)
    fixed[argument.name.c_str()] = nb::make_tuple(argument.value, argument.isDefault);
  return nb::make_tuple(variant.signature.name, describe(variant.signature.inputs), fixed,
                        describe(variant.signature.outputs), variant.problem);
}

/// Arguments as they come, None as an empty tensor; what a variant takes tells their dtypes, if
/// one is given.
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

/// The arguments as the first variant takes them that does so once they are converted.
std::optional<Model::Values> convertedArguments(const ModelFunction &function, nb::dict inputs) {
  for (const FunctionVariant &variant : function.variants) {
    try {
      Model::Values values = toArguments(&variant, inputs);
      ModelFunction alone{function.name, function.arguments, {variant}};
      if (Model::choose(alone, values))
        return values;
    } catch (const std::exception &) { // isn't convertible
    }
  }
  return std::nullopt;
}

/// What the function takes as it is goes before what can be converted, as a list of numbers can.
Model::Values chooseArguments(const ModelFunction &function, nb::dict inputs) {
  if (function.variants.size() == 1)
    return toArguments(&function.variants.front(), inputs);
  Model::Values asGiven = toArguments(nullptr, inputs);
  if (Model::choose(function, asGiven))
    return asGiven;
  return convertedArguments(function, inputs).value_or(std::move(asGiven));
}

/// Values in order, nested as Python has them.
nb::object nested(const ModelFunction::Structure &structure, Model::Values &values, size_t &next) {
  using Structure = ModelFunction::Structure;
  if (structure.kind == Structure::None || next > values.size())
    return nb::none();
  if (structure.kind == Structure::Value) {
    auto &[key, value] = values[next++];
    return toArray(std::move(value), str("output '", key, "'"));
  }
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
    all[function.name.c_str()] = nb::make_tuple(nb::cast(function.arguments), variants);
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
  return nested(variant->result, values, next);
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
    all[signature.name.c_str()] =
        nb::make_tuple(describe(signature.inputs), describe(signature.outputs));
  return all;
}

Model::Values toInputs(const Graph::Signature &signature, nb::dict inputs) {
  Model::Values values;
  for (auto [key, value] : inputs) {
    std::string input = toName(key, "the inputs");
    TensorRequest request{str("input '", input, "'"), std::nullopt};
    auto wanted =
        std::ranges::find(signature.inputs, input, [](auto &entry) { return entry.first; });
    if (wanted != signature.inputs.end())
      request.want = wanted->second.dtype;
    Tensor tensor = toTensor(value, request);
    values.emplace_back(std::move(input), std::move(tensor));
  }
  return values;
}

nb::dict toOutputs(Model::Values values) {
  nb::dict arrays;
  for (auto &[key, value] : values)
    arrays[key.c_str()] = toArray(std::move(value), str("output '", key, "'"));
  return arrays;
}

void bindModel(nb::module_ &module) {
  nb::class_<PyModel>(module, "_Model")
      .def(nb::init<nb::handle, const std::vector<std::string> &, std::optional<int>,
                    std::optional<std::vector<int>>, const std::string &, const std::string &,
                    std::optional<double>, bool, bool, bool, std::optional<int64_t>, nb::handle,
                    nb::handle, bool>(),
           nb::arg("path"), nb::arg("tags"), nb::arg("threads").none(), nb::arg("cores").none(),
           nb::arg("tier"), nb::arg("loop_overlap"), nb::arg("timeout").none(),
           nb::arg("statistics"), nb::arg("trace"), nb::arg("fast_math"), nb::arg("memory").none(),
           nb::arg("allow_read").none(), nb::arg("allow_write").none(), nb::arg("allow_clock"))
      .def("signatures", &PyModel::signatures, "By name: the inputs and the outputs, each by key.")
      .def("call", &PyModel::call, "Signature.__call__.")
      .def("functions", &PyModel::functions,
           "By name: the arguments by place; of each variant its name, inputs, fixed arguments "
           "(value, whether it is the default), outputs, and why it can't be called.")
      .def("function_name", &PyModel::functionName,
           "Of the function that another path or an alias leads to; empty if none does.")
      .def("call_function", &PyModel::callFunction, "Function.__call__.")
      .def("save", &PyModel::save, nb::arg("folder").none(), "Model.save.")
      .def("session", &PyModel::session, "Model.session.");
}

} // namespace treadle::python
