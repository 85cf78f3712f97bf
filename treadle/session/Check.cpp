// Graph::check: what the op table and the effects of nodes say about a graph.
#include "treadle/analysis/conformance/Conformance.h"
#include "treadle/analysis/races/Races.h"
#include "treadle/dialect/SourceLocation.h"
#include "treadle/session/GraphImpl.h"
#include "treadle/session/Needed.h"
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
void addShapeConflicts(ModuleOp module, size_t limit, std::vector<Graph::Problem> &problems) {
  tfg::ShapeAnalysis analysis(module);
  analysis.run();
  std::vector<tfg::ShapeConflict> conflicts = analysis.findConflicts();
  conflicts.resize(std::min(conflicts.size(), limit));
  for (const tfg::ShapeConflict &conflict : conflicts)
    problems.push_back(
        {"error", {conflict.node.name().str()}, str(place(conflict.node), ": ", conflict.message)});
}

} // namespace

Expected<std::vector<Graph::Problem>> Graph::check(const std::vector<std::string> &asked,
                                                   size_t limit) const {
  std::vector<Problem> problems;
  Expected<std::set<Operation *>> needed = neededBy(impl->index(), asked);
  if (!needed)
    return Unexpected(needed.error());
  for (tfg::Finding &finding : tfg::checkConformance(*impl->module, limit))
    problems.push_back({finding.isNote ? "note" : "error",
                        {finding.node.name().str()},
                        str(place(finding.node), ": ", finding.message)});
  addShapeConflicts(*impl->module, limit, problems);
  tfg::EffectAnalysis effects(*impl->module);
  for (tfg::GraphOp graph : impl->module->getOps<tfg::GraphOp>())
    for (tfg::Race &race : tfg::findRaces(graph, effects, limit)) {
      bool isAsked = asked.empty() || (needed->contains(race.first.getOperation()) &&
                                       needed->contains(race.second.getOperation()));
      if (!isAsked)
        continue;
      std::vector<std::string> nodes = {race.first.name().str()};
      if (race.first != race.second)
        nodes.push_back(race.second.name().str());
      problems.push_back({"race", std::move(nodes), raceText(race, effects)});
    }
  return problems;
}

} // namespace treadle
