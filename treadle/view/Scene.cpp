#include "treadle/view/Scene.h"

#include "treadle/analysis/races/Races.h"
#include "treadle/explain/LoopExplanation.h"
#include "treadle/graph/VariableName.h"
#include "treadle/import/SavedModel.h"
#include "treadle/lowering/Constants.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/view/Nodes.h"
#include "treadle/view/Weights.h"

using namespace mlir;

namespace treadle::view {
namespace {

using tfg::Node;
using Json = llvm::json::OStream;

/// Of constants and variables more than these many stay without a histogram.
constexpr size_t mostWeights = 5000;
/// Looking for races takes long where there are very many effects.
constexpr size_t mostRaces = 200;

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
    json.attributeArray("resources", [&] {
      for (const std::string &name : nodes.resources)
        json.object([&] { json.attribute("name", validText(name)); });
    });
    writeRaces(json);
    writeLoops(json);
    writeWeights(json);
    writeSignatures(json);
    json.attributeArray("notes", [&] {
      for (const std::string &note : parts.notes)
        json.value(validText(note));
    });
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
    for (const tfg::Race &race : tfg::findRaces(graph, effects, mostRaces, isShown))
      races.push_back(
          {nodes.find(race.first.getOperation()), nodes.find(race.second.getOperation()),
           str("nothing orders what they do to ", effects.resource(race.resource).text,
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

  void writeBodies(Json &json) {
    json.attributeArray("bodies", [&] {
      for (const Body &body : nodes.bodies)
        json.object([&] {
          json.attribute("name", validText(body.name));
          json.attribute("kind", body.kind);
          json.attribute("first", body.first);
          json.attribute("end", body.end);
        });
    });
    json.attributeArray("frames", [&] {
      for (const Frame &frame : nodes.frames)
        json.object([&] {
          json.attribute("body", frame.body);
          json.attribute("name", validText(frame.name));
          json.attribute("parent", frame.parent);
          json.attribute("parallelIterations", frame.parallelIterations);
        });
    });
    json.attributeArray("clusters", [&] {
      if (parts.explanation)
        for (const Explanation::Cluster &cluster : parts.explanation->clusters)
          json.object([&] {
            json.attribute("ops", cluster.ops);
            writeTexts(json, "inputs", cluster.inputs);
          });
    });
  }

  static void writeTexts(Json &json, StringRef key, const std::vector<std::string> &texts) {
    json.attributeArray(key, [&] {
      for (const std::string &text : texts)
        json.value(validText(text));
    });
  }

  void writeRaces(Json &json) {
    json.attributeArray("races", [&] {
      for (const Race &race : races)
        json.object([&] {
          json.attributeArray("nodes", [&] {
            json.value(race.first);
            json.value(race.second);
          });
          json.attribute("message", validText(race.message));
        });
    });
  }

  void writeLoops(Json &json) {
    json.attributeArray("loops", [&] {
      if (parts.explanation)
        for (const Explanation::Body &body : parts.explanation->bodies)
          for (const Explanation::Loop &loop : body.loops)
            writeLoop(json, body.function, loop);
    });
  }

  void writeLoop(Json &json, const std::string &where, const Explanation::Loop &loop) {
    bool isFrame = loop.kind == "frame";
    json.object([&] {
      json.attribute("node", isFrame ? -1 : nodes.find(where, loop.name));
      json.attribute("frame", isFrame ? nodes.frame(where, loop.name) : -1);
      json.attribute("name", validText(loop.name));
      json.attribute("kind", validText(loop.kind));
      json.attribute("parallelIterations", loop.parallelIterations);
      json.attribute("overlaps", loop.overlapsInAuto);
      json.attribute("why", validText(loop.inAuto));
      std::vector<std::string> orders = orderTexts(loop), open = raceTexts(loop);
      orders.insert(orders.end(), open.begin(), open.end());
      writeTexts(json, "orders", orders);
      writeTexts(json, "advice", loop.advice);
    });
  }

  /// The value of a constant, or of the variable that a node makes a handle of.
  Tensor valueOf(Node node) {
    if (node.opType() == "Const")
      return constants.valueOf(node.results()[0]);
    if (node.opType() != "VarHandleOp" && node.opType() != "VariableV2")
      return {};
    auto variable = parts.variables.find(variableName(node));
    return variable == parts.variables.end() ? Tensor() : variable->second;
  }

  void writeWeights(Json &json) {
    constexpr int64_t fewest = 16;
    size_t number = 0;
    json.attributeArray("weights", [&] {
      if (!parts.weighs)
        return;
      nodes.forEach([&](uint32_t node, Node op) {
        if (number >= mostWeights || op->getNumResults() == 0)
          return;
        Tensor value = valueOf(op);
        if (!value || value.isRef() || value.count() < fewest)
          return;
        if (std::optional<Histogram> histogram = histogramOf(value)) {
          ++number;
          writeWeight(json, node, tensorTypeText(value), *histogram);
        }
        constants.forget(op);
      });
    });
  }

  static void writeWeight(Json &json, uint32_t node, const std::string &type, const Histogram &of) {
    json.object([&] {
      json.attribute("node", node);
      json.attribute("type", type);
      json.attribute("count", of.count);
      json.attribute("min", of.min);
      json.attribute("max", of.max);
      json.attribute("mean", of.mean);
      json.attribute("zeros", of.zeros);
      json.attribute("nans", of.nans);
      json.attribute("infinities", of.infinities);
      json.attributeArray("bins", [&] {
        for (int64_t bin : of.bins)
          json.value(bin);
      });
    });
  }

  void writeSignatures(Json &json) {
    json.attributeArray("signatures", [&] {
      for (const Graph::Signature &signature : parts.signatures)
        json.object([&] {
          json.attribute("name", validText(signature.name));
          json.attributeArray("inputs", [&] { writeValues(json, signature.inputs); });
          json.attributeArray("outputs", [&] { writeValues(json, signature.outputs); });
        });
    });
  }

  void writeValues(Json &json, const std::vector<std::pair<std::string, Graph::Value>> &values) {
    for (const auto &[key, value] : values)
      json.object([&] {
        json.attribute("key", validText(key));
        json.attribute("node", nodes.find("", nodeOf(value.name)));
        json.attribute("type",
                       str(dtypeName(value.dtype), PartialShape{value.hasRank, value.dims}.text()));
      });
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
