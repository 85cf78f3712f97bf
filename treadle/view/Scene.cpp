#include "treadle/view/Scene.h"

#include "treadle/analysis/races/Races.h"
#include "treadle/explain/LoopExplanation.h"
#include "treadle/graph/VariableName.h"
#include "treadle/import/SavedModel.h"
#include "treadle/lowering/Constants.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/session/Json.h"
#include "treadle/view/Nodes.h"
#include "treadle/view/Weights.h"

using namespace mlir;

namespace treadle::view {
namespace {

using tfg::Node;
using Json = llvm::json::OStream;

/// Maximum number of constants and variables with a histogram.
constexpr size_t maxWeights = 5000;
/// Maximum number of races, since finding them is slow if there are very many side effects.
constexpr size_t maxRaces = 200;

class SceneWriter {
public:
  SceneWriter(ModuleOp whole, const SceneParts &parts) : parts(parts) {
    modules = metaGraphs(whole);
    if (modules.empty())
      modules.push_back(whole);
  }

  Scene write() {
    Scene out;
    for (ModuleOp module : modules)
      addModule(module);
    addExplanation();
    if (parts.flat) {
      out.flatBody = static_cast<int32_t>(nodes.bodies.size());
      out.flatFirst = static_cast<uint32_t>(nodes.size());
      addFlat();
    }
    nodes.connectCalls();
    ColumnFile file;
    nodes.addColumns(file);
    out.bytes = file.finish([&](Json &json) { writeHeader(json); });
    return out;
  }

private:
  void writeHeader(Json &json) {
    json.attribute("title", validText(parts.title));
    writeBodies(json);
    json.attribute("resources", listOf(nodes.resources, [](const std::string &name) {
                     return object("name", validText(name));
                   }));
    writeRaces(json);
    writeLoops(json);
    writeWeights(json);
    writeSignatures(json);
    json.attribute("notes", texts(parts.notes));
  }

  void addModule(ModuleOp module) {
    tfg::ShapeAnalysis shapes(module);
    shapes.run();
    nodes.setShapes(&shapes);
    for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
      nodes.addBody(graph.getNodes().front(), {"", "graph", 0, 0}, parts.needed);
    for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
      if (!function.isExternal() && (!parts.needed || parts.called.contains(function.getName())))
        nodes.addFunction(function);
    tfg::EffectAnalysis effects(module);
    nodes.addEffects(effects, module);
    for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
      addRaces(graph, effects);
    nodes.setShapes(nullptr);
  }

  void addFlat() {
    ModuleOp flat = parts.flat;
    tfg::ShapeAnalysis shapes(flat);
    shapes.run();
    nodes.setShapes(&shapes);
    for (tfg::GraphOp graph : flat.getOps<tfg::GraphOp>())
      nodes.addBody(graph.getNodes().front(), {"", "flat", 0, 0});
    nodes.addEffects(tfg::EffectAnalysis(flat), flat);
  }

  void addRaces(tfg::GraphOp graph, const tfg::EffectAnalysis &effects) {
    auto isShown = [&](Node a, Node b) {
      return nodes.find(a.getOperation()) >= 0 && nodes.find(b.getOperation()) >= 0;
    };
    for (const tfg::Race &race : tfg::findRaces(graph, effects, maxRaces, isShown))
      races.push_back(
          {nodes.find(race.first.getOperation()), nodes.find(race.second.getOperation()),
           str("nothing orders their accesses to ", effects.resource(race.resource).text,
               race.frame.empty() ? ""
                                  : str(" in one iteration of '", race.frame, "' and the next"))});
  }

  void addExplanation() {
    if (!parts.explanation)
      return;
    int32_t number = 0;
    for (const Explanation::Cluster &cluster : parts.explanation->clusters) {
      for (const Explanation::Op &op : cluster.nodes)
        if (int32_t node = nodes.find(op.where, op.name); node >= 0)
          nodes.nodeCluster[static_cast<size_t>(node)] = number;
      ++number;
    }
    for (const Explanation::Interpreted &part : parts.explanation->interpreted) {
      uint32_t why = nodes.strings.number(part.why);
      for (const Explanation::Op &op : part.nodes)
        if (int32_t node = nodes.find(op.where, op.name); node >= 0)
          nodes.nodeWhy[static_cast<size_t>(node)] = why;
    }
  }

  static json::Array texts(const std::vector<std::string> &all) { return listOf(all, validText); }

  void writeBodies(Json &json) {
    json.attribute("bodies", listOf(nodes.bodies, [](const Body &body) {
                     return object("name", validText(body.name), "kind", body.kind, "first",
                                   body.first, "end", body.end);
                   }));
    json.attribute("frames", listOf(nodes.frames, [](const SceneFrame &frame) {
                     return object("body", frame.body, "name", validText(frame.name), "parent",
                                   frame.parent, "parallelIterations", frame.parallelIterations);
                   }));
    json::Array clusters;
    if (parts.explanation)
      for (const Explanation::Cluster &cluster : parts.explanation->clusters)
        clusters.push_back(object("ops", cluster.ops, "inputs", texts(cluster.inputs)));
    json.attribute("clusters", std::move(clusters));
  }

  void writeRaces(Json &json) {
    json.attribute("races", listOf(races, [](const Race &race) {
                     return object("nodes", json::Array{race.first, race.second}, "message",
                                   validText(race.message));
                   }));
  }

  void writeLoops(Json &json) {
    json::Array loops;
    if (parts.explanation)
      for (const Explanation::Body &body : parts.explanation->bodies)
        for (const Explanation::Loop &loop : body.loops)
          loops.push_back(jsonOf(body.function, loop));
    json.attribute("loops", std::move(loops));
  }

  json::Object jsonOf(const std::string &where, const Explanation::Loop &loop) {
    bool isFrame = loop.kind == "frame";
    std::vector<std::string> orders = orderTexts(loop), open = raceTexts(loop);
    orders.insert(orders.end(), open.begin(), open.end());
    return object("node", isFrame ? -1 : nodes.find(where, loop.name), "frame",
                  isFrame ? nodes.frame(where, loop.name) : -1, "name", validText(loop.name),
                  "kind", validText(loop.kind), "parallelIterations", loop.parallelIterations,
                  "overlaps", loop.overlapsInAuto, "why", validText(loop.inAuto), "orders",
                  texts(orders), "advice", texts(loop.advice));
  }

  /// Returns the value of a constant, or of the variable whose handle a node creates.
  Tensor valueOf(Node node) {
    if (node.opType() == "Const")
      return constants.valueOf(node.results()[0]);
    if (!makesVariable(node))
      return {};
    auto variable = parts.variables.find(variableName(node));
    return variable == parts.variables.end() ? Tensor() : variable->second;
  }

  void writeWeights(Json &json) {
    constexpr int64_t fewest = 16;
    json::Array weights;
    if (parts.weighs)
      nodes.forEach([&](uint32_t node, Node op) {
        if (weights.size() >= maxWeights || op->getNumResults() == 0)
          return;
        Tensor value = valueOf(op);
        if (!value || value.isRef() || value.count() < fewest)
          return;
        if (std::optional<Histogram> histogram = histogramOf(value))
          weights.push_back(jsonOf(node, tensorTypeText(value), *histogram));
        constants.forget(op);
      });
    json.attribute("weights", std::move(weights));
  }

  static json::Object jsonOf(uint32_t node, const std::string &type, const Histogram &of) {
    return object("node", node, "type", type, "count", of.count, "min", of.min, "max", of.max,
                  "mean", of.mean, "zeros", of.zeros, "nans", of.nans, "infinities", of.infinities,
                  "bins", listOf(of.bins, [](int64_t bin) { return bin; }));
  }

  void writeSignatures(Json &json) {
    auto valueOf = [&](const std::pair<std::string, Graph::Value> &named) {
      const Graph::Value &value = named.second;
      return object("key", validText(named.first), "node", nodes.find("", nodeOf(value.name)),
                    "type",
                    str(dtypeName(value.dtype), PartialShape{value.hasRank, value.dims}.text()));
    };
    json.attribute("signatures", listOf(parts.signatures, [&](const Graph::Signature &signature) {
                     return object("name", validText(signature.name), "inputs",
                                   listOf(signature.inputs, valueOf), "outputs",
                                   listOf(signature.outputs, valueOf));
                   }));
  }

  struct Race {
    int32_t first, second;
    std::string message;
  };

  const SceneParts &parts;
  SmallVector<ModuleOp> modules;
  Nodes nodes;
  tfg::Constants constants;
  std::vector<Race> races;
};

} // namespace

Scene sceneOf(ModuleOp module, const SceneParts &parts) {
  return SceneWriter(module, parts).write();
}

} // namespace treadle::view
