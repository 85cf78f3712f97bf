#include "treadle/transforms/order/BodyOrder.h"

#include "treadle/analysis/races/FrameGraph.h"
#include "treadle/dialect/Regions.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

using Index = FrameGraph::Index;

struct Edge {
  Index from, to;
  bool operator==(const Edge &) const = default;
};

/// Finds the missing edges of one body. Visits the nodes in order, and keeps for each resource the
/// accesses that no later write is ordered after.
class BodyOrder {
public:
  BodyOrder(Block &body, const EffectAnalysis &effects) : graph(body), effects(effects) {
    for (Operation *op : topologicalOrder(body))
      order.push_back(graph.indexOf(Node(op)));
  }

  std::vector<Edge> missingEdges(llvm::function_ref<bool(Node)> isOrdered) {
    for (Index index : order)
      if (!isOrdered || isOrdered(node(index)))
        visit(index);
    dropOrdered();
    return std::move(edges);
  }

  Node node(Index index) const { return graph.node(index); }

  /// Returns the last of the nodes that must run and that no result of the function waits for.
  SmallVector<Node> unawaitedEffects(ReturnOp end) const;

private:
  struct Access {
    Index node;
    Effect effect;
  };

  void visit(Index node) {
    size_t first = edges.size();
    ArrayRef<Effect> own = effects.of(graph.node(node));
    for (Effect effect : own)
      forEachConflicting(effect.resource, [&](ArrayRef<Access> earlier) {
        for (const Access &access : earlier)
          if (access.node != node && effects.conflict(access.effect, effect) &&
              !waitsFor(earlier.back(), access, effect))
            addEdge({access.node, node}, first);
      });
    for (Effect effect : own) {
      auto &accesses = recent(effect.resource);
      // Later accesses that would wait for these wait for them through this write.
      if (effect.writes)
        llvm::erase_if(accesses, [&](const Access &access) {
          return effects.conflict(access.effect, effect) && covers(effect, access.effect);
        });
      accesses.push_back({node, effect});
    }
  }

  /// Returns whether a node with `effect` waits for `earlier` through `last`.
  bool waitsFor(Access last, Access earlier, Effect effect) const {
    return last.node != earlier.node && effects.conflict(last.effect, earlier.effect) &&
           effects.conflict(last.effect, effect);
  }

  /// Returns whether every access that conflicts with `earlier` also conflicts with `write`.
  static bool covers(Effect write, Effect earlier) {
    auto parts = static_cast<unsigned>(earlier.part);
    return (static_cast<unsigned>(write.part) & parts) == parts;
  }

  void addEdge(Edge edge, size_t first) {
    if (!llvm::is_contained(ArrayRef(edges).drop_front(first), edge))
      edges.push_back(edge);
  }

  SmallVector<Access> &recent(ResourceId resource) {
    auto [entry, isNew] = accessed.try_emplace(resource);
    if (isNew && mayBeSeveral(resource))
      broad.push_back(resource);
    return entry->second;
  }

  /// Resources with equal names only conflict with each other and with unknown resources.
  bool mayBeSeveral(ResourceId resource) const {
    Resource::Kind kind = effects.resource(resource).kind;
    return kind == Resource::Unknown || kind == Resource::Argument;
  }

  template <typename Visit> void forEachConflicting(ResourceId resource, Visit visit) {
    if (mayBeSeveral(resource)) {
      for (const auto &entry : accessed)
        visit(entry.second);
      return;
    }
    if (auto entry = accessed.find(resource); entry != accessed.end())
      visit(entry->second);
    for (ResourceId other : broad)
      visit(accessed.find(other)->second);
  }

  /// Drops edges between nodes that another path of the body orders. Processes 64 sources at a
  /// time, one bit each. Doesn't search for paths longer than `lookahead` nodes, because an edge
  /// too many is harmless.
  void dropOrdered();
  static constexpr size_t lookahead = 4096;

  FrameGraph graph;
  const EffectAnalysis &effects;
  /// The order of the graph, adjusted so that nodes follow the nodes that they use.
  std::vector<Index> order;
  llvm::MapVector<ResourceId, SmallVector<Access>> accessed;
  SmallVector<ResourceId> broad;
  std::vector<Edge> edges; // by target, in the order of the graph
};

void BodyOrder::dropOrdered() {
  constexpr size_t blockSize = 64;
  std::vector<size_t> position(graph.size());
  for (auto [place, node] : llvm::enumerate(order))
    position[node] = place;
  llvm::sort(edges, [&](Edge a, Edge b) {
    return std::pair(position[a.from], position[a.to]) <
           std::pair(position[b.from], position[b.to]);
  });
  std::vector<uint64_t> reached(graph.size());
  std::vector<Index> touched;
  auto reach = [&](Index node, uint64_t sources) {
    if (!reached[node])
      touched.push_back(node);
    reached[node] |= sources;
  };
  std::vector<Edge> kept;
  for (auto rest = ArrayRef(edges); !rest.empty();) {
    SmallVector<Index, blockSize> sources;
    size_t count = 0, end = 0;
    for (; count < rest.size(); ++count) {
      if (sources.empty() || sources.back() != rest[count].from) {
        if (sources.size() == blockSize)
          break;
        reach(rest[count].from, uint64_t(1) << sources.size());
        sources.push_back(rest[count].from);
      }
      end = std::max(end, position[rest[count].to]);
    }
    end = std::min(end, position[sources.back()] + lookahead);
    for (size_t p = position[sources.front()]; p < end; ++p)
      if (Index node = order[p]; reached[node])
        for (Index user : graph.forward()[node])
          if (user < graph.size()) // the end of a loop isn't a node
            reach(user, reached[node]);
    for (Edge edge : rest.take_front(count)) {
      size_t source = llvm::find(sources, edge.from) - sources.begin();
      if (!(reached[edge.to] >> source & 1))
        kept.push_back(edge);
    }
    for (Index node : touched)
      reached[node] = 0;
    touched.clear();
    rest = rest.drop_front(count);
  }
  edges = std::move(kept);
}

SmallVector<Node> BodyOrder::unawaitedEffects(ReturnOp end) const {
  llvm::DenseSet<Operation *> waitedFor;
  SmallVector<Operation *> pending;
  auto wait = [&](Operation *op) {
    if (op && waitedFor.insert(op).second)
      pending.push_back(op);
    while (!pending.empty()) {
      Operation *waiting = pending.pop_back_val();
      SmallVector<Value> inputs(waiting->getOperands());
      if (waiting->getNumRegions() != 0)
        llvm::append_range(inputs, capturesOf(waiting));
      for (Value value : inputs)
        if (Operation *from = value.getDefiningOp(); from && waitedFor.insert(from).second)
          pending.push_back(from);
    }
  };
  wait(end);
  SmallVector<Node> found;
  for (Index index : llvm::reverse(order)) {
    Node node = graph.node(index);
    if (!mustRun(node, effects) || waitedFor.contains(node.getOperation()))
      continue;
    found.push_back(node);
    wait(node.getOperation());
  }
  return SmallVector<Node>(llvm::reverse(found));
}

} // namespace

std::vector<OrderEdge> missingOrder(Block &body, const EffectAnalysis &effects,
                                    llvm::function_ref<bool(Node)> isOrdered) {
  BodyOrder order(body, effects);
  std::vector<OrderEdge> edges;
  for (Edge edge : order.missingEdges(isOrdered))
    edges.push_back({order.node(edge.from), order.node(edge.to)});
  return edges;
}

SmallVector<Node> unawaitedEffects(FuncOp function, const EffectAnalysis &effects) {
  return BodyOrder(function.getEntry(), effects).unawaitedEffects(function.getReturn());
}

void returnControl(ReturnOp end, ArrayRef<Node> nodes) {
  if (nodes.empty())
    return;
  OpBuilder builder(end);
  SmallVector<Value> tokens(end.getControl());
  SmallVector<Attribute> attributes(end.getControlRetAttrs().getValue());
  StringAttr key = Node(nodes.front()).dialect().argNameKey;
  for (Node node : nodes) {
    tokens.push_back(node.controlResult());
    attributes.push_back(builder.getDictionaryAttr(NamedAttribute(key, node.nameAttr())));
  }
  SmallVector<Value> data(end.getData());
  ReturnOp::create(builder, end.getLoc(), data, tokens, builder.getArrayAttr(attributes));
  end.erase();
}

bool mustRun(Node node, const EffectAnalysis &effects) {
  if (llvm::any_of(effects.of(node), [](Effect effect) { return effect.writes; }))
    return true;
  const OpDef *def = node.numResults() ? nullptr : lookupOp(node.opType());
  return def && def->isStateful();
}

Node firstV1Node(Block &body) {
  for (Operation &op : body)
    if (auto node = dyn_cast<Node>(&op); node && isV1ControlFlow(node))
      return node;
  return {};
}

} // namespace treadle::tfg
