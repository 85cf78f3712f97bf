// Combines the results of other components into the data of a page.
#include "treadle/View.h"

#include "treadle/Explain.h"
#include "treadle/Model.h"
#include "treadle/explain/RunExperiment.h"
#include "treadle/graph/Dependencies.h"
#include "treadle/graph/Diff.h"
#include "treadle/graph/DisplayedFetches.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/session/Json.h"
#include "treadle/view/Columns.h"
#include "treadle/view/Scene.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace treadle {
namespace {

/// Explaining compilation nearly compiles the graph, so it is limited to this many nodes.
constexpr int64_t maxExplainedNodes = 30000;

std::string textOf(json::Value value) { return llvm::formatv("{0}", value); }

int64_t numNodes(const Graph &graph) {
  int64_t count = 0;
  graph.impl->module->walk([&](Operation *op) { count += tfg::Node::isNode(op); });
  return count;
}

/// Returns the nodes to show; nullopt for all.
Expected<std::optional<std::set<Operation *>>> neededNodes(const Graph &graph,
                                                           const ViewRequest &request) {
  std::vector<std::string> fetches =
      TREADLE_TRY(displayedFetches(graph, request.signature, request.all));
  if (fetches.empty())
    return std::nullopt;
  return dependenciesOf(graph.impl->index(), fetches).map([](std::set<Operation *> needed) {
    return std::optional(std::move(needed));
  });
}

void addVariables(const Graph &graph, view::SceneParts &parts) {
  SessionOptions options;
  options.threads = 1;
  Expected<Model> model = Model::create(graph, options);
  if (!model) {
    parts.notes.push_back("the values of its variables aren't shown: " + model.error().message);
    return;
  }
  for (auto &[name, value] : model->session().variables())
    parts.variables.emplace(name, std::move(value));
}

Expected<view::Scene> makeScene(const Graph &graph, const ViewRequest &request,
                                const std::string &title, const Graph *flat) {
  Graph shown = TREADLE_TRY(withoutRegions(graph));
  auto needed = TREADLE_TRY(neededNodes(shown, request));
  view::SceneParts parts;
  parts.title = title;
  parts.signatures = graph.signatures();
  if (needed) {
    parts.needed = &*needed;
    parts.called = functionsCalledBy(shown.impl->index(), *needed);
  }
  parts.weighs = request.weighs;
  std::optional<Explanation> explanation;
  if (int64_t count = numNodes(shown); request.explains && count > maxExplainedNodes) {
    parts.notes.push_back(str("compiled parts aren't shown for a graph of ", count,
                              " nodes; 'treadle explain' tells"));
  } else if (request.explains) {
    ExplainRequest asked;
    asked.signature = request.signature;
    asked.all = request.all;
    if (Expected<Explanation> found = explain(graph, asked))
      explanation = std::move(*found);
    else
      parts.notes.push_back("compiled parts aren't shown: " + found.error().message);
  }
  parts.explanation = explanation ? &*explanation : nullptr;
  if (request.weighs && graph.isSavedModel())
    addVariables(graph, parts);
  if (flat)
    parts.flat = *flat->impl->module;
  return view::sceneOf(*shown.impl->module, parts);
}

Expected<std::string> differencesOf(const Graph &graph, const Graph &other) {
  std::vector<Difference> differences = TREADLE_TRY(diffGraphs(graph, other));
  return textOf(listOf(differences, [](const Difference &difference) {
    return object("kind", difference.kind, "function", view::validText(difference.function), "node",
                  view::validText(difference.node), "message", view::validText(difference.message));
  }));
}

// ---- steps

class StepsText {
public:
  StepsText(const Recording &recording, const view::Scene &scene, const ExploreRequest &request)
      : recording(recording), scene(scene), request(request) {
    uint32_t number = scene.flatFirst;
    for (tfg::GraphOp graph : recording.flat.impl->module->getOps<tfg::GraphOp>())
      for (Operation &op : graph.getNodes().front())
        if (tfg::Node::isNode(&op))
          numbers[tfg::Node(&op).name()] = number++;
  }

  std::string write(const Expected<Exploration> &schedules) {
    json::Array firings;
    for (const Recording::Firing &firing : recording.firings)
      // Other nodes are of a function that couldn't be expanded.
      if (auto number = numbers.find(firing.node); number != numbers.end())
        firings.push_back(jsonOf(number->second, firing));
    auto feed = [](const auto &named) { return jsonOf(named.first, shownValue(named.second)); };
    auto result = [](const auto &named) { return jsonOf(named.first, named.second); };
    return textOf(object("body", scene.flatBody, "feeds", listOf(request.feeds, feed), "firings",
                         std::move(firings), "results", listOf(recording.results, result), "isCut",
                         recording.isCut, "schedules",
                         schedules ? json::Value(jsonOf(*schedules)) : json::Value(nullptr)));
  }

private:
  static json::Object jsonOf(const std::string &name, const std::string &text) {
    return object("name", view::validText(name), "text", view::validText(text));
  }

  static json::Value jsonOf(const std::optional<Recording::Value> &value) {
    return value ? json::Value(object("dead", value->isDead, "text", view::validText(value->text)))
                 : json::Value(nullptr);
  }

  static json::Object jsonOf(uint32_t node, const Recording::Firing &firing) {
    auto value = [](const std::optional<Recording::Value> &value) { return jsonOf(value); };
    auto step = [](const std::pair<std::string, int64_t> &step) {
      return json::Array{view::validText(step.first), step.second};
    };
    json::Object out =
        object("node", node, "tag", listOf(firing.tag, step), "dead", firing.isDead, "inputs",
               listOf(firing.inputs, value), "outputs", listOf(firing.outputs, value));
    if (!firing.error.empty())
      out["error"] = view::validText(firing.error);
    return out;
  }

  static json::Object jsonOf(const Exploration &found) {
    auto schedule = [](const Exploration::Schedule &schedule) {
      return object("firings", listOf(schedule.firings, view::validText), "outcome",
                    view::validText(schedule.outcome));
    };
    return object("number", found.schedules, "isComplete", found.isComplete, "isAmbiguous",
                  found.isAmbiguous, "isRandom", found.isRandom, "difference",
                  listOf(found.difference, schedule));
  }

  const Recording &recording;
  const view::Scene &scene;
  const ExploreRequest &request;
  llvm::StringMap<uint32_t> numbers;
};

Expected<void> checkTrace(const std::string &trace) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(trace);
  bool isTrace = false;
  if (parsed)
    isTrace = parsed->getAsArray() ||
              (parsed->getAsObject() && parsed->getAsObject()->getArray("traceEvents"));
  else
    llvm::consumeError(parsed.takeError());
  if (!isTrace)
    return Unexpected(invalidArgument("the file is not a trace, expected JSON with traceEvents, as "
                                      "written by 'treadle run --trace'"));
  return {};
}

} // namespace

Expected<std::map<std::string, std::string>> viewParts(const Graph &graph,
                                                       const ViewRequest &request) {
  if (!graph.impl)
    return Unexpected(invalidArgument("the graph is empty; read one with Graph::fromFile"));
  std::map<std::string, std::string> parts;
  if (!request.trace.empty()) {
    TREADLE_TRY(checkTrace(request.trace));
    parts["trace"] = request.trace;
  }
  std::optional<Recording> recording;
  if (request.steps)
    recording = TREADLE_TRY(record(graph, *request.steps));
  view::Scene scene =
      TREADLE_TRY(makeScene(graph, request, request.title, recording ? &recording->flat : nullptr));
  if (recording)
    // If one run exceeds the time limit, each schedule would.
    parts["steps"] = StepsText(*recording, scene, *request.steps)
                         .write(recording->isCut ? Unexpected(invalidArgument("cut"))
                                                 : explore(graph, *request.steps));
  parts["scene"] = std::move(scene.bytes);
  if (request.other) {
    parts["other"] =
        TREADLE_TRY(makeScene(*request.other, request, request.otherTitle, nullptr)).bytes;
    parts["differences"] = TREADLE_TRY(differencesOf(graph, *request.other));
  }
  return parts;
}

} // namespace treadle
