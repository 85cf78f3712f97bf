// Graphs and values.
#include "treadle/c/Handles.h"

#include <utility>

using namespace treadle;
using namespace treadle::c;

namespace {

treadle_status *returnGraph(const char *what, const void *given, treadle_graph **graph,
                            const std::function<Expected<Graph>()> &make) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{what, given}, {"graph", graph}}));
    Graph made = TREADLE_TRY(make());
    *graph = new treadle_graph{std::move(made)};
    return {};
  });
}

treadle_status *returnValues(const treadle_graph *graph, treadle_values **values,
                             std::vector<Graph::Value> (Graph::*of)() const) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"graph", graph}, {"values", values}}));
    auto made = std::make_unique<treadle_values>();
    for (Graph::Value &value : (graph->graph.*of)())
      made->values.push_back({value.name, value});
    *values = made.release();
    return {};
  });
}

const treadle_values::Value *valueAt(const treadle_values *values, int32_t index) {
  bool isThere = index >= 0 && index < treadle_values_count(values);
  return isThere ? &values->values[static_cast<size_t>(index)] : nullptr;
}

} // namespace

treadle_status *treadle_graph_from_file(const char *path, treadle_graph **graph) {
  return returnGraph("path", path, graph, [&] { return Graph::fromFile(path); });
}
treadle_status *treadle_graph_from_bytes(const void *bytes, size_t size, treadle_graph **graph) {
  return returnGraph("bytes", bytes, graph,
                     [&] { return Graph::fromBytes({static_cast<const char *>(bytes), size}); });
}
void treadle_graph_free(treadle_graph *graph) { delete graph; }

treadle_status *treadle_graph_to_file(const treadle_graph *graph, const char *path) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"graph", graph}, {"path", path}}));
    return graph->graph.toFile(path);
  });
}
treadle_status *treadle_graph_to_bytes(const treadle_graph *graph, char **bytes, size_t *size) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"graph", graph}, {"bytes", bytes}, {"size", size}}));
    std::string message = TREADLE_TRY(graph->graph.toGraphDef());
    *bytes = copyText(message);
    *size = message.size();
    return {};
  });
}
treadle_status *treadle_graph_to_text(const treadle_graph *graph, char **text) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"graph", graph}, {"text", text}}));
    *text = copyText(graph->graph.text());
    return {};
  });
}
treadle_status *treadle_graph_run_passes(const treadle_graph *graph, const char *pipeline,
                                         treadle_graph **changed) {
  return toStatusCatching([&]() -> Expected<void> {
    TREADLE_TRY(requireAll({{"graph", graph}, {"pipeline", pipeline}, {"changed", changed}}));
    Graph made = TREADLE_TRY(graph->graph.runPasses(pipeline));
    *changed = new treadle_graph{std::move(made)};
    return {};
  });
}

treadle_status *treadle_graph_inputs(const treadle_graph *graph, treadle_values **values) {
  return returnValues(graph, values, &Graph::inputs);
}
treadle_status *treadle_graph_outputs(const treadle_graph *graph, treadle_values **values) {
  return returnValues(graph, values, &Graph::outputs);
}

int32_t treadle_values_count(const treadle_values *values) {
  return values ? static_cast<int32_t>(values->values.size()) : 0;
}
const char *treadle_values_key(const treadle_values *values, int32_t index) {
  const auto *value = valueAt(values, index);
  return value ? value->key.c_str() : nullptr;
}
const char *treadle_values_name(const treadle_values *values, int32_t index) {
  const auto *value = valueAt(values, index);
  return value ? value->value.name.c_str() : nullptr;
}
int32_t treadle_values_dtype(const treadle_values *values, int32_t index) {
  const auto *value = valueAt(values, index);
  return value ? static_cast<int32_t>(value->value.dtype) : 0;
}
int32_t treadle_values_rank(const treadle_values *values, int32_t index) {
  const auto *value = valueAt(values, index);
  return value && value->value.hasRank ? static_cast<int32_t>(value->value.dims.size()) : -1;
}
const int64_t *treadle_values_dims(const treadle_values *values, int32_t index) {
  const auto *value = valueAt(values, index);
  return value ? value->value.dims.data() : nullptr;
}
void treadle_values_free(treadle_values *values) { delete values; }
