// What the op table and the effects of nodes say about a graph.
#include "treadle/Check.h"
#include "treadle/analysis/conformance/Conformance.h"
#include "treadle/analysis/races/Races.h"
#include "treadle/dialect/SourceLocation.h"
#include "treadle/export/SavedModel.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/Needed.h"
#include "treadle/graph/SavedModel.h"
#include "treadle/import/SavedModel.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/shape_inference/ShapeAnalysis.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace treadle {
namespace {

/// `, defined at model.py:31`, where that is known.
std::string origin(tfg::Node node) {
  std::string line = sourceLine(node->getLoc());
  return line.empty() ? "" : str(", defined at ", line);
}

/// `'x' in function 'f'`.
std::string place(tfg::Node node) {
  auto function = node->getParentOfType<tfg::FuncOp>();
  return str("node '", node.name().str(), "'",
             function ? str(" in function '", function.getName().str(), "'") : "", origin(node));
}

std::string describe(tfg::Node node) {
  return str("'", node.name().str(), "' (", node.opType().str(), origin(node), ")");
}

std::string raceText(const tfg::Race &race, const tfg::EffectAnalysis &effects) {
  const std::string &resource = effects.resource(race.resource).text;
  std::string loop = race.frame.empty() ? "" : str(" of loop '", race.frame, "'");
  if (race.first == race.second)
    return str("node ", describe(race.first), " writes ", resource,
               ", and nothing orders an iteration", loop,
               " and the next; let what the loop carries wait for it by a control edge");
  std::string both = race.firstWrites == race.secondWrites
                         ? str("both write ", resource)
                         : str("one ", race.firstWrites ? "writes" : "reads", " ", resource,
                               ", the other ", race.secondWrites ? "writes" : "reads", " it");
  return str("nodes ", describe(race.first), " and ", describe(race.second), ": ", both,
             loop.empty() ? ", and no path orders them; add a control edge"
                          : str(", and nothing orders an iteration", loop,
                                " and the next; let what the loop carries wait for both"));
}

/// Nodes whose inputs are of shapes that their op can't take.
void addShapeConflicts(ModuleOp module, size_t limit, std::vector<Problem> &problems) {
  tfg::ShapeAnalysis analysis(module);
  analysis.run();
  std::vector<tfg::ShapeConflict> conflicts = analysis.findConflicts();
  conflicts.resize(std::min(conflicts.size(), limit));
  for (const tfg::ShapeConflict &conflict : conflicts)
    problems.push_back(
        {"error", {conflict.node.name().str()}, str(place(conflict.node), ": ", conflict.message)});
}

/// Soft edges that no run keeps.
void addSoftEdgeProblems(ModuleOp module, size_t limit, std::vector<Problem> &problems) {
  SmallVector<tfg::SoftEdgeFinding> found;
  tfg::forEachBody(module, [&](Block &body) {
    llvm::append_range(found, tfg::findSoftEdgeProblems(body));
    tfg::forEachRegionBody(
        body, [&](Block &inner) { llvm::append_range(found, tfg::findSoftEdgeProblems(inner)); });
  });
  found.truncate(std::min<size_t>(found.size(), limit));
  for (const tfg::SoftEdgeFinding &finding : found)
    problems.push_back(
        {"error", {finding.node.name().str()}, str(place(finding.node), ": ", finding.message)});
}

} // namespace

namespace {

/// Nodes of one graph that run together, in each of some runs.
using Runs = std::vector<std::set<Operation *>>;

/// What a model's callers can run: each signature, and what initializes, saves and restores it. A
/// signature that asks for what isn't there is a problem.
Runs runsOf(ModuleOp metaGraph, const pb::MetaGraphDef &meta, std::vector<Problem> &problems) {
  ModuleIndex index(metaGraph);
  Runs runs;
  auto add = [&](const std::vector<std::string> &names, const std::string &what) {
    if (Expected<std::set<Operation *>> needed = neededBy(index, names))
      runs.push_back(std::move(*needed));
    else
      problems.push_back({"error", {}, str(what, ": ", needed.error().message)});
  };
  for (const Graph::Signature &signature : signaturesOf(meta)) {
    SmallVector<StringRef> names;
    for (const auto &[key, value] : signature.outputs)
      StringRef(value.name).split(names, ',', -1, /*KeepEmpty=*/false);
    add({names.begin(), names.end()}, str("signature '", signature.name, "'"));
  }
  SavedModelFiles files;
  files.meta = meta;
  for (const std::string &node :
       {files.initOp(), meta.saver_def().save_tensor_name(), meta.saver_def().restore_op_name()})
    if (!node.empty())
      add({node}, "the model");
  return runs;
}

/// Of races that matter to one of the runs, or with none given, to any.
void addRaces(ModuleOp module, const std::optional<Runs> &runs, size_t limit,
              std::vector<Problem> &problems) {
  auto runTogether = [&](tfg::Node a, tfg::Node b) {
    return !runs || llvm::any_of(*runs, [&](const std::set<Operation *> &run) {
      return run.contains(a.getOperation()) && run.contains(b.getOperation());
    });
  };
  tfg::EffectAnalysis effects(module);
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    for (tfg::Race &race : tfg::findRaces(graph, effects, limit, runTogether)) {
      std::vector<std::string> nodes = {race.first.name().str()};
      if (race.first != race.second)
        nodes.push_back(race.second.name().str());
      problems.push_back({"race", std::move(nodes), raceText(race, effects)});
    }
}

} // namespace

Expected<std::vector<Problem>> check(const Graph &graph, const std::vector<std::string> &asked,
                                     size_t limit) {
  std::vector<Problem> problems;
  std::set<Operation *> needed = TREADLE_TRY(neededBy(graph.impl->index(), asked));
  for (tfg::Finding &finding : tfg::checkConformance(*graph.impl->module, limit))
    problems.push_back({finding.isNote ? "note" : "error",
                        {finding.node.name().str()},
                        str(place(finding.node), ": ", finding.message)});
  addShapeConflicts(*graph.impl->module, limit, problems);
  addSoftEdgeProblems(*graph.impl->module, limit, problems);
  SmallVector<ModuleOp> models = metaGraphs(*graph.impl->module);
  if (models.empty() || !asked.empty()) {
    addRaces(*graph.impl->module, asked.empty() ? std::nullopt : std::optional(Runs{needed}), limit,
             problems);
    return problems;
  }
  for (ModuleOp model : models) {
    pb::MetaGraphDef meta = TREADLE_TRY(exportMetaGraphHeader(model));
    addRaces(model, runsOf(model, meta, problems), limit, problems);
  }
  return problems;
}

} // namespace treadle
