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

class PyModel {
public:
  PyModel(nb::handle path, const std::vector<std::string> &tags, std::optional<int> threads,
          std::optional<std::vector<int>> cores, const std::string &tier,
          const std::string &loopOverlap, std::optional<double> timeout, bool statistics,
          bool trace, bool fastMath);

  nb::dict signatures() const;
  nb::dict call(const std::string &signature, nb::dict inputs);
  void save(nb::handle folder);
  nb::object session() const { return toSession(model.session(), ops); }

private:
  std::shared_ptr<const RegisteredOps> ops; // before the model, which refers to it
  Model model;
};

// Gives up the GIL while `work` runs, which Ctrl-C cancels.
template <typename Work> auto interruptibly(Session session, Work work) {
  auto result = [&] {
    InterruptScope interruptible(session);
    nb::gil_scoped_release release;
    return work();
  }();
  if (PyErr_CheckSignals())
    throw nb::python_error();
  return orRaise(std::move(result));
}

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
                 bool trace, bool fastMath)
    : ops(currentOps()),
      model(loadModel(toPath(path),
                      sessionOptions(threads, std::move(cores), tier, loopOverlap, timeout,
                                     statistics, trace, fastMath, *ops),
                      tags)) {}

nb::dict describe(const std::vector<std::pair<std::string, Graph::Value>> &entries) {
  nb::dict values;
  for (const auto &[key, value] : entries)
    values[key.c_str()] = toValue(value);
  return values;
}

/// For each signature its inputs and its outputs.
nb::dict PyModel::signatures() const {
  nb::dict all;
  for (const Graph::Signature &signature : model.signatures())
    all[signature.name.c_str()] =
        nb::make_tuple(describe(signature.inputs), describe(signature.outputs));
  return all;
}

nb::dict PyModel::call(const std::string &name, nb::dict inputs) {
  const Graph::Signature &signature = *orRaise(model.signature(name));
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
  Model::Values results = interruptibly(model.session(), [&] { return model.call(name, values); });
  nb::dict arrays;
  for (auto &[key, value] : results)
    arrays[key.c_str()] = toArray(std::move(value), str("output '", key, "'"));
  return arrays;
}

void PyModel::save(nb::handle folder) {
  std::string path = folder.is_none() ? "" : toPath(folder);
  interruptibly(model.session(),
                [&] { return folder.is_none() ? model.save() : model.save(path); });
}

} // namespace

void bindModel(nb::module_ &module) {
  nb::class_<PyModel>(module, "_Model")
      .def(nb::init<nb::handle, const std::vector<std::string> &, std::optional<int>,
                    std::optional<std::vector<int>>, const std::string &, const std::string &,
                    std::optional<double>, bool, bool, bool>(),
           nb::arg("path"), nb::arg("tags"), nb::arg("threads").none(), nb::arg("cores").none(),
           nb::arg("tier"), nb::arg("loop_overlap"), nb::arg("timeout").none(),
           nb::arg("statistics"), nb::arg("trace"), nb::arg("fast_math"))
      .def("signatures", &PyModel::signatures, "By name: the inputs and the outputs, each by key.")
      .def("call", &PyModel::call, "Signature.__call__.")
      .def("save", &PyModel::save, nb::arg("folder").none(), "Model.save.")
      .def("session", &PyModel::session, "Model.session.");
}

} // namespace treadle::python
