// What a page shows, put together from what other rooms find out.
#include "treadle/View.h"

#include "treadle/Explain.h"
#include "treadle/Model.h"
#include "treadle/explain/RunExperiment.h"
#include "treadle/graph/Diff.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/Needed.h"
#include "treadle/graph/Shown.h"
#include "treadle/view/Columns.h"
#include "treadle/view/Scene.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace treadle {
namespace {

using Json = llvm::json::OStream;

/// What is compiled is found out by compiling nearly all the way.
constexpr int64_t mostExplained = 30000;

template <typename Write> std::string jsonOf(Write write) {
  std::string text;
  llvm::raw_string_ostream out(text);
  Json json(out);
  write(json);
  return text;
}

int64_t numNodes(const Graph &graph) {
  int64_t count = 0;
  graph.impl->module->walk([&](Operation *op) { count += tfg::Node::isNode(op); });
  return count;
}

/// The nodes that are shown; nothing if all are.
Expected<std::optional<std::set<Operation *>>> neededNodes(const Graph &graph,
                                                           const ViewRequest &request) {
  std::vector<std::string> fetches =
      TREADLE_TRY(shownFetches(graph, request.signature, request.all));
  if (fetches.empty())
    return std::nullopt;
  return neededBy(graph.impl->index(), fetches).map([](std::set<Operation *> needed) {
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
    parts.called = calledBy(shown.impl->index(), *needed);
  }
  parts.weighs = request.weighs;
  std::optional<Explanation> explanation;
  if (int64_t count = numNodes(shown); request.explains && count > mostExplained) {
    parts.notes.push_back(str("what is compiled isn't shown for a graph of ", count,
                              " nodes; 'treadle explain' tells"));
  } else if (request.explains) {
    ExplainRequest asked;
    asked.signature = request.signature;
    asked.all = request.all;
    if (Expected<Explanation> found = explain(graph, asked))
      explanation = std::move(*found);
    else
      parts.notes.push_back("what is compiled isn't shown: " + found.error().message);
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
  return jsonOf([&](Json &json) {
    json.array([&] {
      for (const Difference &difference : differences)
        json.object([&] {
          json.attribute("kind", difference.kind);
          json.attribute("function", view::validText(difference.function));
          json.attribute("node", view::validText(difference.node));
          json.attribute("message", view::validText(difference.message));
        });
    });
  });
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
    return jsonOf([&](Json &json) {
      json.object([&] {
        json.attribute("body", scene.flatBody);
        json.attributeArray("feeds", [&] {
          for (const auto &[name, value] : request.feeds)
            writeNamed(json, name, shownValue(value));
        });
        json.attributeArray("firings", [&] {
          for (const Recording::Firing &firing : recording.firings)
            writeFiring(json, firing);
        });
        json.attributeArray("results", [&] {
          for (const auto &[name, value] : recording.results)
            writeNamed(json, name, value);
        });
        json.attribute("isCut", recording.isCut);
        if (schedules)
          json.attributeObject("schedules", [&] { writeSchedules(json, *schedules); });
        else
          json.attribute("schedules", nullptr);
      });
    });
  }

private:
  static void writeNamed(Json &json, const std::string &name, const std::string &text) {
    json.object([&] {
      json.attribute("name", view::validText(name));
      json.attribute("text", view::validText(text));
    });
  }

  static void writeValue(Json &json, const std::optional<Recording::Value> &value) {
    if (!value)
      return json.value(nullptr);
    json.object([&] {
      json.attribute("dead", value->isDead);
      json.attribute("text", view::validText(value->text));
    });
  }

  void writeFiring(Json &json, const Recording::Firing &firing) {
    auto number = numbers.find(firing.node);
    if (number == numbers.end())
      return; // of a function that could not be taken apart
    json.object([&] {
      json.attribute("node", number->second);
      json.attributeArray("tag", [&] {
        for (const auto &[frame, iteration] : firing.tag)
          json.array([&] {
            json.value(view::validText(frame));
            json.value(iteration);
          });
      });
      json.attribute("dead", firing.isDead);
      json.attributeArray("inputs", [&] {
        for (const auto &value : firing.inputs)
          writeValue(json, value);
      });
      json.attributeArray("outputs", [&] {
        for (const Recording::Value &value : firing.outputs)
          writeValue(json, value);
      });
      if (!firing.error.empty())
        json.attribute("error", view::validText(firing.error));
    });
  }

  static void writeSchedules(Json &json, const Exploration &found) {
    json.attribute("number", found.schedules);
    json.attribute("isComplete", found.isComplete);
    json.attribute("isAmbiguous", found.isAmbiguous);
    json.attribute("isRandom", found.isRandom);
    json.attributeArray("difference", [&] {
      for (const Exploration::Schedule &schedule : found.difference)
        json.object([&] {
          json.attributeArray("firings", [&] {
            for (const std::string &firing : schedule.firings)
              json.value(view::validText(firing));
          });
          json.attribute("outcome", view::validText(schedule.outcome));
        });
    });
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
    return Unexpected(invalidArgument(
        "this is no trace, expected JSON with traceEvents, as 'treadle run --trace' writes it"));
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
    // A run that takes too long would take as long for each schedule.
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
