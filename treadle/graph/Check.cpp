// Checks a graph against the op records and the effects of its nodes.
#include "treadle/Check.h"
#include "treadle/analysis/conformance/Conformance.h"
#include "treadle/analysis/races/Races.h"
#include "treadle/dialect/SourceLocation.h"
#include "treadle/export/SavedModel.h"
#include "treadle/graph/Dependencies.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/RunFaults.h"
#include "treadle/graph/Runs.h"
#include "treadle/graph/SavedModel.h"
#include "treadle/graph/StarvedNodes.h"
#include "treadle/import/SavedModel.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/shape_inference/ShapeAnalysis.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle {
namespace {

/// `, defined at model.py:31`; empty if the location is unknown.
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
               " and the next; add a control edge from it to a value that the loop carries");
  std::string both = race.firstWrites == race.secondWrites
                         ? str("both write ", resource)
                         : str("one ", race.firstWrites ? "writes" : "reads", " ", resource,
                               ", the other ", race.secondWrites ? "writes" : "reads", " it");
  return str(
      "nodes ", describe(race.first), " and ", describe(race.second), ": ", both,
      loop.empty()
          ? ", and no path orders them; add a control edge"
          : str(", and nothing orders an iteration", loop,
                " and the next; add control edges from both to a value that the loop carries"));
}

/// Reports nodes whose input shapes their op doesn't accept.
void addShapeConflicts(ModuleOp module, size_t limit, std::vector<Problem> &problems) {
  tfg::ShapeAnalysis analysis(module);
  analysis.run();
  std::vector<tfg::ShapeConflict> conflicts = analysis.findConflicts();
  conflicts.resize(std::min(conflicts.size(), limit));
  for (const tfg::ShapeConflict &conflict : conflicts)
    problems.push_back(
        {"error", {conflict.node.name().str()}, str(place(conflict.node), ": ", conflict.message)});
}

/// Reports soft edges that no run respects.
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

/// Reports loops that exit without a value once they reach iteration 1.
void addStarvedNodes(ArrayRef<tfg::StarvedNode> starved, std::vector<Problem> &problems) {
  for (const tfg::StarvedNode &one : starved) {
    if (one.decidesOnce)
      continue;
    Problem &problem =
        problems.emplace_back("note", std::vector{one.node.name().str()}, tfg::textOf(one));
    for (tfg::Node enter : one.enters)
      problem.nodes.push_back(enter.name().str());
  }
}

std::vector<std::string> namesOf(ArrayRef<Operation *> nodes) {
  std::vector<std::string> names;
  for (Operation *op : nodes)
    names.push_back(tfg::Node(op).name().str());
  return names;
}

std::vector<std::string> allNames(ModuleOp module) {
  std::vector<std::string> names;
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    for (Operation &op : graph.getNodes().front())
      names.push_back(tfg::Node(&op).name().str());
  return names;
}

/// Adds errors that runs raise and that the checks of single nodes don't find.
void addRunFaults(std::vector<Problem> faults, std::vector<Problem> &problems) {
  llvm::StringSet<> known;
  for (const Problem &problem : problems)
    for (const std::string &node : problem.nodes)
      known.insert(node);
  for (Problem &fault : faults)
    if (fault.nodes.empty() || !known.contains(fault.nodes[0]))
      problems.push_back(std::move(fault));
}

/// Returns the runs that a model's callers can request: each signature, and the nodes that
/// initialize, save and restore the model. A signature that names a missing tensor is a problem.
Runs runsOf(ModuleOp metaGraph, const pb::MetaGraphDef &meta, std::vector<std::string> &needed,
            std::vector<Problem> &problems) {
  ModuleIndex index(metaGraph);
  Runs runs;
  auto add = [&](const std::vector<std::string> &names, const std::string &what) {
    if (Expected<std::vector<Operation *>> asked = nodesNamed(index, names)) {
      runs.add(what, *asked);
      llvm::append_range(needed, namesOf(*asked));
    } else
      problems.push_back({"error", {}, str(what, ": ", asked.error().message)});
  };
  for (const Graph::Signature &signature : signaturesOf(meta)) {
    std::vector<std::string> names;
    for (const auto &[key, value] : signature.outputs)
      if (!value.name.empty())
        names.push_back(value.name);
    add(names, str("signature '", signature.name, "'"));
  }
  SavedModelFiles files;
  files.meta = meta;
  for (const std::string &node :
       {files.initOp(), meta.saver_def().save_tensor_name(), meta.saver_def().restore_op_name()})
    if (!node.empty())
      add({node}, str("the model's '", node, "'"));
  return runs;
}

/// Pairs of nodes that would race if they were part of one run; `check` assumes that they aren't.
class UnreportedRaces {
public:
  void add(tfg::Node a, tfg::Node b) {
    if (b->isBeforeInBlock(a.getOperation()))
      std::swap(a, b);
    if (seen.insert({a.getOperation(), b.getOperation()}).second && pairs.size() < maxNamed)
      pairs.emplace_back(a, b);
  }

  /// Adds a note that lists the pairs and the assumption under which they weren't reported as
  /// races.
  void addNote(const Runs &runs, std::vector<Problem> &problems) const {
    if (pairs.empty())
      return;
    std::string sinks, races;
    for (const std::string &name : ArrayRef(runs.names()).take_front(maxNamed))
      sinks += (sinks.empty() ? "" : ", ") + name;
    for (auto [a, b] : pairs)
      races += str(races.empty() ? "" : "; ", describe(a), " and ", describe(b));
    bool hasMoreEnds = runs.names().size() > maxNamed, hasMoreRaces = seen.size() > pairs.size();
    problems.push_back(
        {"note",
         {pairs[0].first.name().str(), pairs[0].second.name().str()},
         str("each node without users was checked as a run of its own: ", sinks,
             hasMoreEnds ? ", ..." : "", "; in a run that requests several of them, ", seen.size(),
             seen.size() == 1 ? " more pair" : " more pairs", " of nodes would race: ", races,
             hasMoreRaces ? "; ..." : "",
             "; name the nodes that one run requests to check for these")});
  }

private:
  static constexpr size_t maxNamed = 4;
  llvm::DenseSet<std::pair<Operation *, Operation *>> seen;
  std::vector<std::pair<tfg::Node, tfg::Node>> pairs;
};

/// Adds the races within one of the runs. Other races are collected in `unreported` unless it is
/// null.
void addRaces(tfg::GraphOp graph, const Runs &runs, const tfg::EffectAnalysis &effects,
              size_t limit, UnreportedRaces *unreported, std::vector<Problem> &problems) {
  auto runTogether = [&](tfg::Node a, tfg::Node b) {
    bool together = runs.shareRun(a.getOperation(), b.getOperation());
    if (!together && unreported)
      unreported->add(a, b);
    return together;
  };
  bool endedEarly = false;
  for (tfg::Race &race : tfg::findRaces(graph, effects, limit, runTogether, &endedEarly)) {
    Problem problem{"race", {race.first.name().str()}, raceText(race, effects), ""};
    if (race.first != race.second) {
      problem.nodes.push_back(race.second.name().str());
      problem.secondAlone = runs.runWithout(race.second.getOperation(), race.first.getOperation());
    }
    problems.push_back(std::move(problem));
  }
  if (endedEarly)
    problems.push_back(
        {"unfinished",
         {},
         str("the search for races stopped early: the graph has more than ", tfg::maxRacePairs,
             " pairs of unordered nodes with conflicting effects; order "
             "some of them, or name the nodes that one run requests")});
}

void addRaces(ModuleOp module, const Runs &runs, size_t limit, std::vector<Problem> &problems) {
  tfg::EffectAnalysis effects(module);
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    addRaces(graph, runs, effects, limit, /*unreported=*/nullptr, problems);
}

/// Adds the races of a graph without declared runs. The graph of an entry function is one run as a
/// whole.
void addRacesOfSinks(ModuleOp module, size_t limit, std::vector<Problem> &problems) {
  tfg::EffectAnalysis effects(module);
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>()) {
    Runs sinks = Runs::ofSinks(graph.getNodes().front()), whole;
    UnreportedRaces unreported;
    if (graph->hasAttr("tf.entry_function")) {
      std::vector<Operation *> all;
      for (Operation &op : graph.getNodes().front())
        all.push_back(&op);
      whole.add("the program", all);
      addRaces(graph, whole, effects, limit, /*unreported=*/nullptr, problems);
      continue;
    }
    addRaces(graph, sinks, effects, limit, &unreported, problems);
    unreported.addNote(sinks, problems);
  }
}

} // namespace

Expected<std::vector<Problem>> check(const Graph &graph, const std::vector<std::string> &asked,
                                     size_t limit) {
  std::vector<Problem> problems;
  std::vector<Operation *> roots = TREADLE_TRY(nodesNamed(graph.impl->index(), asked));
  for (tfg::Finding &finding : tfg::checkConformance(*graph.impl->module, limit))
    problems.push_back({finding.isNote ? "note" : "error",
                        {finding.node.name().str()},
                        str(place(finding.node), ": ", finding.message)});
  addShapeConflicts(*graph.impl->module, limit, problems);
  addSoftEdgeProblems(*graph.impl->module, limit, problems);
  addStarvedNodes(asked.empty() ? findStarvedNodes(*graph.impl->module, limit)
                                : findStarvedNodes(*graph.impl->module, graph.impl->index(), asked),
                  problems);
  SmallVector<ModuleOp> models = metaGraphs(*graph.impl->module);
  if (!asked.empty()) {
    Runs one;
    one.add("the run", roots);
    addRunFaults(findRunFaults(graph, namesOf(roots), limit), problems);
    addRaces(*graph.impl->module, one, limit, problems);
  } else if (models.empty()) {
    addRunFaults(findRunFaults(graph, allNames(*graph.impl->module), limit), problems);
    addRacesOfSinks(*graph.impl->module, limit, problems);
  } else
    for (ModuleOp model : models) {
      pb::MetaGraphDef meta = TREADLE_TRY(exportMetaGraphHeader(model));
      std::vector<std::string> needed;
      Runs runs = runsOf(model, meta, needed, problems);
      addRunFaults(models.size() == 1 ? findRunFaults(graph, needed, limit)
                                      : findRunFaults(model, needed, limit),
                   problems);
      addRaces(model, runs, limit, problems);
    }
  return problems;
}

} // namespace treadle
