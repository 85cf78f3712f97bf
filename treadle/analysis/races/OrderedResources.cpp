#include "treadle/analysis/races/OrderedResources.h"

#include <algorithm>

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The resources of a node, and whether it writes them.
llvm::MapVector<ResourceId, bool> resourcesOf(ArrayRef<Effect> effects) {
  llvm::MapVector<ResourceId, bool> writes;
  for (Effect effect : effects)
    writes[effect.resource] |= effect.writes;
  return writes;
}

} // namespace

OrderedResources::OrderedResources(const FrameGraph &graph, const EffectAnalysis &effects,
                                   ArrayRef<Index> accessing, ArrayRef<size_t> position)
    : graph(graph), effects(effects), position(position),
      seenFrom(graph.numVertices(), FrameGraph::none) {
  if (accessing.empty() || hasUnknown(accessing))
    return;
  connect();
  for (Index node : accessing)
    add(node);
}

/// Accesses of an unknown resource conflict with those of all others.
bool OrderedResources::hasUnknown(ArrayRef<Index> accessing) const {
  return llvm::any_of(accessing, [&](Index node) {
    return llvm::any_of(effects.of(graph.node(node)), [&](Effect effect) {
      return effects.resource(effect.resource).kind == Resource::Unknown;
    });
  });
}

void OrderedResources::connect() {
  constexpr size_t timesAll = 16;
  incoming.resize(graph.numVertices());
  for (Index from = 0; from < graph.numVertices(); ++from)
    for (Index to : graph.forward()[from]) {
      incoming[to].push_back(from);
      budget += timesAll;
    }
}

void OrderedResources::add(Index node) {
  auto own = resourcesOf(effects.of(graph.node(node)));
  auto before = [&](ResourceId id, bool writes) -> const std::vector<Index> & {
    Accesses &all = accesses[id];
    return writes && !all.reads.empty() ? all.reads : all.lastWrite;
  };
  wanted.clear();
  for (auto [id, writes] : own)
    if (accesses[id].isOrdered)
      wanted.insert_range(before(id, writes));
  search(node);
  for (auto [id, writes] : own) {
    Accesses &all = accesses[id];
    all.isOrdered &= llvm::none_of(before(id, writes), [&](Index n) { return wanted.contains(n); });
    if (writes) {
      all.lastWrite = {node};
      all.reads.clear();
    } else {
      all.reads.push_back(node);
    }
  }
}

/// Removes what it finds from `wanted`.
void OrderedResources::search(Index node) {
  size_t first = position.size();
  for (Index target : wanted)
    first = std::min(first, position[target]);
  std::vector<Index> found = {node};
  for (size_t i = 0; i < found.size() && !wanted.empty(); ++i)
    for (Index from : incoming[found[i]]) {
      if (budget == 0)
        return;
      --budget;
      if (position[from] < first || std::exchange(seenFrom[from], node) == node)
        continue;
      wanted.erase(from);
      found.push_back(from);
    }
}

} // namespace treadle::tfg
