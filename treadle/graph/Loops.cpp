// Prepares loops for execution: selects those that overlap iterations, and attaches the traits of
// registered ops.
#include "treadle/graph/GraphImpl.h"

#include "treadle/analysis/effects/Effects.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Plan.h"
#include "treadle/transforms/deps_to_chains/Gain.h"

using namespace mlir;

namespace treadle {
namespace {

const OpTraits *traitsOf(tfg::Node node, const OpTraitsTable &table) {
  auto token = node.attr<StringAttr>("token");
  return table.find(node.opType(), token ? token.getValue() : "");
}

template <typename Visit> void forEachNode(ModuleOp module, Visit visit) {
  for (Operation &top : *module.getBody())
    for (Region &region : top.getRegions())
      for (Operation &op : region.getOps())
        if (tfg::Node::isNode(&op))
          visit(tfg::Node(&op));
}

void state(tfg::Node node, const OpTraits &traits) {
  Builder builder(node->getContext());
  SmallVector<Attribute> reads, writes;
  for (const OpTraits::Effect &effect : traits.effects)
    (effect.writes ? writes : reads).push_back(builder.getStringAttr(effect.resource));
  node->setDiscardableAttr(
      tfg::opTraitsKey,
      tfg::OpTraitsAttr::get(node->getContext(), builder.getBoolAttr(traits.waits),
                             builder.getBoolAttr(traits.touchesWorld), builder.getArrayAttr(reads),
                             builder.getArrayAttr(writes)));
}

bool isWhile(tfg::Node node) { return carriesArguments(opKind(node.opType())); }

/// Whether there is a loop that could overlap iterations. With `mustWait`, only loops that contain
/// a waiting op count, since only those gain from it.
bool hasLoops(const Graph &graph, bool mustWait) {
  tfg::BlockingNodes waiting(*graph.impl->module);
  bool found = false;
  forEachNode(*graph.impl->module, [&](tfg::Node node) {
    found = found || (isWhile(node) && (!mustWait || waiting.waits(node)));
  });
  return found;
}

} // namespace

Expected<Graph> withTraits(const Graph &graph, const OpTraitsTable *table) {
  bool hasTraits = false;
  if (table && !table->empty())
    forEachNode(*graph.impl->module,
                [&](tfg::Node node) { hasTraits |= traitsOf(node, *table) != nullptr; });
  if (!hasTraits)
    return graph;
  OwningOpRef<ModuleOp> module = graph.impl->copy();
  forEachNode(*module, [&](tfg::Node node) {
    if (const OpTraits *traits = traitsOf(node, *table))
      state(node, *traits);
  });
  return derivedGraph(graph, std::move(module));
}

Expected<Graph> withOverlappingLoops(const Graph &graph, LoopOverlap overlap,
                                     const OpTraitsTable *table) {
  return withTraits(graph, table).and_then([&](const Graph &stated) -> Expected<Graph> {
    if (overlap == LoopOverlap::Off || !hasLoops(stated, overlap == LoopOverlap::Auto))
      return stated;
    return stated.runPasses(overlap == LoopOverlap::On
                                ? "tfg-deps-to-chains{loop-overlap=on},tfg-overlap-loops{all=true}"
                                : "tfg-deps-to-chains{only-gaining=true},tfg-overlap-loops");
  });
}

} // namespace treadle
