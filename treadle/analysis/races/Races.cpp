#include "treadle/analysis/races/Races.h"

#include "treadle/analysis/races/FrameGraph.h"
#include "treadle/analysis/races/OrderedResources.h"

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
        position(this->graph.numVertices()), isActive(this->graph.numVertices()),
        component(this->graph.numVertices()), seen(component), low(component),
        onStack(this->graph.numVertices()) {
    for (auto [place, vertex] : llvm::enumerate(this->graph.order())) {
      position[vertex] = place;
      isActive[vertex] =
          vertex < this->graph.size() && !effects.of(this->graph.node(vertex)).empty();
      if (isActive[vertex])
        active.push_back(vertex);
    }
    OrderedResources ordered(this->graph, effects, active, position);
    llvm::copy_if(active, std::back_inserter(unordered), [&](Index node) {
      return llvm::any_of(effects.of(this->graph.node(node)),
                          [&](Effect effect) { return !ordered.contains(effect.resource); });
    });
  }

  std::vector<Race> find(bool *endedEarly) {
    for (auto rest = ArrayRef<Index>(unordered); !rest.empty() && !isOver();
         rest = rest.drop_front(std::min(blockSize, rest.size())))
      findInBlock(rest.take_front(blockSize));
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
    std::vector<uint64_t> reached(graph.numVertices());
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
    for (Index target : unordered) {
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
           llvm::none_of(graph.inside(frame), [&](Index vertex) {
             return llvm::any_of(graph.backEdges(vertex), [&](FrameGraph::Edge edge) {
               return graph.frameOf(edge.second) == frame &&
                      llvm::is_contained(effects.handles(graph.node(edge.first).results()[0]), id);
             });
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
    llvm::copy_if(graph.inside(f), std::back_inserter(inside),
                  [&](Index vertex) { return isActive[vertex]; });
    if (inside.empty())
      return;
    findComponents(f);
    dropOrdered(inside);
    llvm::sort(inside, [&](Index a, Index b) { return position[a] < position[b]; });
    for (size_t i = 0; i < inside.size() && !isOver(); ++i)
      for (size_t j = i; j < inside.size(); ++j)
        if (component[inside[i]] != component[inside[j]] || component[inside[i]] == 0)
          report(inside[i], inside[j], f);
  }

  /// Drops nodes all of whose resources are only read, or only accessed on one cycle.
  void dropOrdered(std::vector<Index> &inside) const;

  /// Finds for each node the cycle through back edges of f that it is on; 0 if there is none.
  void findComponents(Index f);

  FrameGraph graph;
  const EffectAnalysis &effects;
  size_t limit;
  function_ref<bool(Node, Node)> counts;
  std::vector<size_t> position;
  std::vector<bool> isActive;                 // whether the vertex is a node with side effects
  std::vector<Index> active;                  // these, in order
  std::vector<Index> unordered;               // those with resources that aren't ordered throughout
  std::vector<unsigned> component, seen, low; // by vertex, of the current loop
  std::vector<bool> onStack;
  std::vector<Race> races;
  size_t looked = 0; // pairs of unordered nodes
  llvm::DenseSet<std::pair<Index, Index>> reported;
};

void RaceFinder::dropOrdered(std::vector<Index> &inside) const {
  struct Use {
    unsigned component;
    bool isWritten = false, isOneCycle = true;
  };
  llvm::DenseMap<ResourceId, Use> uses;
  bool hasUnknown = false;
  for (Index node : inside)
    for (Effect effect : effects.of(graph.node(node))) {
      Use &use = uses.try_emplace(effect.resource, Use{component[node]}).first->second;
      use.isWritten |= effect.writes;
      use.isOneCycle &= component[node] != 0 && component[node] == use.component;
      hasUnknown |= effects.resource(effect.resource).kind == Resource::Unknown;
    }
  if (hasUnknown)
    return;
  llvm::erase_if(inside, [&](Index node) {
    return llvm::all_of(effects.of(graph.node(node)), [&](Effect effect) {
      const Use &use = uses.find(effect.resource)->second;
      return !use.isWritten || use.isOneCycle;
    });
  });
}

// Tarjan's algorithm with an explicit stack.
void RaceFinder::findComponents(Index f) {
  for (Index vertex : graph.inside(f))
    seen[vertex] = 0;
  std::vector<Index> open;
  SmallVector<std::pair<Index, size_t>> work;
  unsigned clock = 0, numComponents = 0;
  auto enter = [&](Index node) {
    seen[node] = low[node] = ++clock;
    open.push_back(node);
    onStack[node] = true;
    work.push_back({node, 0});
  };
  // Returns the end of an edge that stays in the loop, and its own vertex for other edges.
  auto next = [&](Index node, size_t edge) {
    size_t own = graph.forward()[node].size();
    if (edge < own) {
      Index to = graph.forward()[node][edge];
      return graph.isInside(to, f) ? to : node;
    }
    ArrayRef<FrameGraph::Edge> back = graph.backEdges(node);
    if (edge - own == back.size())
      return FrameGraph::none;
    Index merge = back[edge - own].second;
    return graph.frameOf(merge) == f ? merge : node;
  };
  for (Index start : graph.inside(f)) {
    if (seen[start])
      continue;
    enter(start);
    while (!work.empty()) {
      auto &[node, edge] = work.back();
      Index to = next(node, edge++);
      if (to != FrameGraph::none) {
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
}

} // namespace

std::vector<Race> findRaces(GraphOp graph, const EffectAnalysis &effects, size_t limit,
                            function_ref<bool(Node, Node)> counts, bool *endedEarly) {
  return RaceFinder(graph, effects, limit, counts).find(endedEarly);
}

} // namespace treadle::tfg
