// Records one run of the reference machine.
#include "treadle/explain/RunExperiment.h"

#include "treadle/kernels/text/TensorText.h"
#include "treadle/runtime/Variable.h"

namespace treadle {
namespace {

/// Returns a text that is short enough to label an edge.
std::string shortText(const Tensor &value) {
  constexpr int64_t elementsShown = 3;
  if (!value)
    return "";
  if (value.isRef())
    return shortText(refVariable(value).read());
  std::string text = nestedText(value, elementsShown);
  std::ranges::replace(text, '\n', ' ');
  return str(tensorTypeText(value), " = ", text);
}

class Recorder final : public reference::Observer {
public:
  Recorder(const GraphSpec &graph, Recording &out) : graph(graph), out(out) {}

  void fires(const reference::Instance &instance, const std::map<int32_t, reference::Value> &inputs,
             bool isDead) override {
    current = nullptr;
    if (out.firings.size() >= Recording::mostFirings) {
      out.isCut = true;
      return;
    }
    const NodeSpec &node = graph.nodes[static_cast<size_t>(instance.node)];
    current = &out.firings.emplace_back();
    current->node = node.name;
    current->tag = instance.tag;
    current->isDead = isDead;
    current->inputs.resize(node.inputs.size());
    for (const auto &[i, value] : inputs)
      current->inputs[static_cast<size_t>(i)] = shown(value);
  }

  void gives(const reference::Instance &, const std::vector<reference::Value> &outputs) override {
    if (current)
      for (const reference::Value &value : outputs)
        current->outputs.push_back(shown(value));
  }

  void fails(const reference::Instance &, const Error &error) override {
    if (current)
      current->error = error.message;
  }

private:
  static Recording::Value shown(const reference::Value &value) {
    return {value.isDead, value.isDead ? "" : shortText(value.tensor)};
  }

  const GraphSpec &graph;
  Recording &out;
  Recording::Firing *current = nullptr; // valid until the next one is added
};

} // namespace

Expected<Recording> record(const Graph &graph, const ExploreRequest &request) {
  auto experiment = TREADLE_TRY(RunExperiment::of(graph, request));
  Recording out;
  Recorder recorder(experiment->spec(), out);
  experiment->observer = &recorder;
  reference::Interpreter &machine = experiment->begin();
  size_t firings = 0;
  while (experiment->shouldContinue(firings) && !machine.ready().empty() && !out.isCut) {
    // Copies the instance, because firing removes it from the ready set.
    machine.fire(reference::Instance(machine.ready().begin()->first));
    ++firings;
  }
  if (experiment->error && out.firings.empty())
    return Unexpected(std::move(*experiment->error));
  out.isCut |= experiment->error.has_value();
  out.results = experiment->results();
  out.flat = experiment->flatGraph();
  return out;
}

} // namespace treadle
