#include "treadle/session/NodeInlining.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/lowering/PrunedSubgraph.h"
#include "treadle/rewriting/Dissolving.h"
#include "treadle/session/Pipelines.h"

using namespace mlir;

namespace treadle {
namespace {

/// Whether the request needs a node that TensorFlow inlines and that has effects.
bool needsInlining(const Graph &graph, const Request &request) {
  tfg::Effects effects(*graph.impl->module);
  Expected<PrunedSubgraph> part = prunedSubgraph(graph.impl->index(), request);
  return part && part->hasNode(
                     [&](tfg::Node node) { return tfg::dissolves(node) && !effects.isPure(node); });
}

/// Counts the nodes with effects in the graph itself, without its functions.
size_t countEffects(ModuleOp module) {
  tfg::Effects effects(module);
  size_t count = 0;
  for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
    for (Operation &op : graph.getNodes().front()) {
      const OpDef *def = lookupOp(tfg::Node(&op).opType());
      count += (!def || def->isStateful()) && !effects.isPure(tfg::Node(&op));
    }
  return count;
}

/// Keeps nodes whose results are fed: after inlining, other nodes would no longer use these
/// results.
void keepFed(ModuleOp module, const Request &request) {
  ModuleIndex index(module);
  for (const std::string &feed : request.feeds)
    if (tfg::Node node = index.node(nodeOf(feed)))
      for (StringRef key : {tfg::dissolvedKey, tfg::dissolvedCallKey})
        node->removeAttr(key);
}

} // namespace

bool hasDissolvedNodes(const Graph &graph) {
  tfg::GraphOp nodes = graph.impl->index().graph();
  return nodes && llvm::any_of(nodes.getNodes().front(),
                               [](Operation &op) { return tfg::dissolves(tfg::Node(&op)); });
}

std::optional<Graph> withInlinedNodes(const Graph &graph, const Request &request) {
  if (!needsInlining(graph, request))
    return std::nullopt;
  OwningOpRef<ModuleOp> copy = graph.impl->copy();
  keepFed(*copy, request);
  std::string prune = pruningTo(request, /*functions=*/true);
  if (!runOn(*copy, str(prune, ",tfg-functional-to-v1{dissolving=true},"
                               "tfg-inline{dissolving=true}")))
    return std::nullopt;
  size_t count = countEffects(*copy);
  if (!runOn(*copy, prune) || countEffects(*copy) == count)
    return std::nullopt;
  return derivedGraph(graph, std::move(copy));
}

} // namespace treadle
