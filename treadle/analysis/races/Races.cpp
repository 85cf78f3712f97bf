#include "treadle/analysis/races/Races.h"

#include "treadle/analysis/races/FrameGraph.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"

#include <bit>

using namespace mlir;

namespace treadle::tfg {
namespace {

using Index = FrameGraph::Index;

class RaceFinder {
public:
  RaceFinder(GraphOp graph, const EffectAnalysis &effects, size_t limit,
             function_ref<bool(Node, Node)> counts)
      : graph(graph.getNodes().front()), effects(effects), limit(limit), counts(counts),
        position(this->graph.size()) {
    for (auto [place, node] : llvm::enumerate(this->graph.order()))
      position[node] = place;
    for (Index node : this->graph.order())
      if (!effects.of(this->graph.node(node)).empty())
        active.push_back(node);
  }

  std::vector<Race> find(bool *endedEarly) {
    for (size_t first = 0; first < active.size(); first += blockSize)
      findInBlock(ArrayRef<Index>(active).slice(first, std::min(blockSize, active.size() - first)));
    for (Index f = 0; f < graph.frames().size(); ++f)
      if (graph.frames()[f].overlaps)
        findAcrossIterations(f);
    if (endedEarly)
      *endedEarly = looked >= maxRacePairs && races.size() < limit;
    return std::move(races);
  }

private:
  /// Processes this number of sources at a time, one bit each.
  static constexpr size_t blockSize = 64;

  // The nodes of the current block that access and that write a resource, as bit masks.
  struct Masks {
    uint64_t all = 0, writes = 0;
  };

  void findInBlock(ArrayRef<Index> sources) {
    std::vector<uint64_t> reached(graph.size());
    llvm::DenseMap<ResourceId, Masks> masks;
    Masks any, nowhere;
    for (auto [bit, source] : llvm::enumerate(sources)) {
      uint64_t word = uint64_t(1) << bit;
      reached[source] |= word;
      for (Effect effect : effects.of(graph.node(source))) {
        bool isUnknown = effects.resource(effect.resource).kind == Resource::Unknown;
        for (Masks *set : {&masks[effect.resource], &any, isUnknown ? &nowhere : &any}) {
          set->all |= word;
          set->writes |= effect.writes ? word : 0;
        }
      }
    }
    for (size_t p = position[sources.front()]; p < graph.order().size(); ++p) {
      Index node = graph.order()[p];
      if (reached[node])
        for (Index user : graph.forward()[node])
          reached[user] |= reached[node];
    }
    for (Index target : active) {
      if (isOver())
        return;
      uint64_t candidates = 0;
      for (Effect effect : effects.of(graph.node(target))) {
        auto own = masks.find(effect.resource);
        bool isUnknown = effects.resource(effect.resource).kind == Resource::Unknown;
        const Masks *same = own == masks.end() ? nullptr : &own->second;
        const Masks *other = isUnknown ? &any : &nowhere;
        for (const Masks *set : {same, other})
          if (set)
            candidates |= effect.writes ? set->all : set->writes;
      }
      for (candidates &= ~reached[target]; candidates; candidates &= candidates - 1)
        reportUnordered(sources[std::countr_zero(candidates)], target);
    }
  }

  /// The number of pairs is quadratic in the number of nodes with side effects.
  bool isOver() const { return races.size() >= limit || looked >= maxRacePairs; }

  void reportUnordered(Index source, Index target) {
    if (position[source] < position[target] && !graph.areExclusive(source, target))
      report(source, target, FrameGraph::none);
  }

  /// Returns whether each iteration of the frame has an object of its own that isn't passed on to
  /// the next one.
  bool isPerIteration(ResourceId id, Index frame) const {
    const Resource &resource = effects.resource(id);
    if (resource.kind != Resource::Created || !graph.contains(resource.origin))
      return false;
    Index origin = graph.indexOf(Node(resource.origin));
    return graph.frameOf(origin) != FrameGraph::none && graph.isInside(origin, frame) &&
           llvm::none_of(graph.backEdges(), [&](std::pair<Index, Index> edge) {
             return graph.frameOf(edge.second) == frame &&
                    llvm::is_contained(effects.handles(graph.node(edge.first).results()[0]), id);
           });
  }

  /// `frame` is the loop if a and b race in two different iterations; none if they race in one.
  void report(Index a, Index b, Index frame) {
    if (isOver())
      return;
    ++looked;
    // Orders both nodes as in the graph, for readers.
    if (graph.node(b)->isBeforeInBlock(graph.node(a).getOperation()))
      std::swap(a, b);
    for (Effect first : effects.of(graph.node(a)))
      for (Effect second : effects.of(graph.node(b)))
        if (effects.conflict(first, second) &&
            !(frame != FrameGraph::none && first.resource == second.resource &&
              isPerIteration(first.resource, frame))) {
          bool isCounted = !counts || counts(graph.node(a), graph.node(b));
          if (isCounted && reported.insert({a, b}).second)
            races.push_back({graph.node(a), graph.node(b), first.resource, first.writes,
                             second.writes,
                             frame == FrameGraph::none ? "" : graph.frames()[frame].name});
          return;
        }
  }

  // Nodes of consecutive iterations are ordered if they are on a common cycle.
  void findAcrossIterations(Index f) {
    std::vector<Index> inside;
    for (Index node : active)
      if (graph.frameOf(node) != FrameGraph::none && graph.isInside(node, f))
        inside.push_back(node);
    if (inside.empty())
      return;
    std::vector<unsigned> component = components(f);
    for (size_t i = 0; i < inside.size() && !isOver(); ++i)
      for (size_t j = i; j < inside.size(); ++j)
        if (component[inside[i]] != component[inside[j]] || component[inside[i]] == 0)
          report(inside[i], inside[j], f);
  }

  /// Returns for each node the cycle through back edges of f that it is on; 0 if there is none.
  std::vector<unsigned> components(Index f);

  FrameGraph graph;
  const EffectAnalysis &effects;
  size_t limit;
  function_ref<bool(Node, Node)> counts;
  std::vector<size_t> position;
  std::vector<Index> active; // nodes with side effects, in order
  std::vector<Race> races;
  size_t looked = 0; // pairs of unordered nodes
  llvm::DenseSet<std::pair<Index, Index>> reported;
};

// Tarjan's algorithm with an explicit stack.
std::vector<unsigned> RaceFinder::components(Index f) {
  std::vector<std::vector<Index>> extra(graph.size());
  for (auto [from, merge] : graph.backEdges())
    if (graph.frameOf(merge) == f)
      extra[from].push_back(merge);
  std::vector<unsigned> component(graph.size()), seen(graph.size()), low(graph.size());
  std::vector<bool> onStack(graph.size());
  std::vector<Index> open;
  SmallVector<std::pair<Index, size_t>> work;
  unsigned clock = 0, numComponents = 0;
  auto enter = [&](Index node) {
    seen[node] = low[node] = ++clock;
    open.push_back(node);
    onStack[node] = true;
    work.push_back({node, 0});
  };
  auto next = [&](Index node, size_t edge) {
    size_t own = graph.forward()[node].size();
    if (edge < own)
      return graph.forward()[node][edge];
    return edge - own < extra[node].size() ? extra[node][edge - own] : FrameGraph::none;
  };
  for (Index start = 0; start < graph.size(); ++start) {
    if (seen[start] || !graph.isInside(start, f))
      continue;
    enter(start);
    while (!work.empty()) {
      auto &[node, edge] = work.back();
      Index to = next(node, edge++);
      if (to != FrameGraph::none) {
        if (!graph.isInside(to, f))
          continue;
        if (!seen[to])
          enter(to);
        else if (onStack[to])
          low[node] = std::min(low[node], seen[to]);
        continue;
      }
      Index done = node;
      work.pop_back();
      if (!work.empty())
        low[work.back().first] = std::min(low[work.back().first], low[done]);
      if (low[done] != seen[done])
        continue;
      bool isCycle = open.back() != done;
      numComponents += isCycle;
      for (bool isLast = false; !isLast;) {
        Index member = open.back();
        open.pop_back();
        onStack[member] = false;
        component[member] = isCycle ? numComponents : 0;
        isLast = member == done;
      }
    }
  }
  return component;
}

} // namespace

std::vector<Race> findRaces(GraphOp graph, const EffectAnalysis &effects, size_t limit,
                            function_ref<bool(Node, Node)> counts, bool *endedEarly) {
  return RaceFinder(graph, effects, limit, counts).find(endedEarly);
}

} // namespace treadle::tfg
