#include "treadle/transforms/deps_to_chains/Redundancy.h"

#include "treadle/dialect/Regions.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The nodes of a function in topological order, with their existing and planned edges.
class BodyEdges {
public:
  BodyEdges(FuncOp function, ArrayRef<OrderEdge> missing)
      : nodes(topologicalOrder(function.getEntry())) {
    for (OrderEdge edge : missing)
      added[edge.to.getOperation()].push_back(edge.from.getOperation());
  }

  std::vector<Operation *> nodes;

  template <typename Visit> void forEachOperand(Operation *op, Visit visit) const {
    for (Value value : op->getOperands())
      visit(value);
    if (op->getNumRegions() != 0)
      for (Value value : capturesOf(op))
        visit(value);
  }

  template <typename Visit> void forEachInput(Operation *op, Visit visit) const {
    forEachOperand(op, [&](Value value) {
      if (Operation *from = value.getDefiningOp())
        visit(from);
    });
    if (auto more = added.find(op); more != added.end())
      for (Operation *from : more->second)
        visit(from);
  }

private:
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> added;
};

/// A bit for each chain of a group of up to 64.
using Mask = uint64_t;
constexpr size_t chainsAtOnce = 64;

using Masks = llvm::DenseMap<Operation *, Mask>;

Masks membersOf(MutableArrayRef<LoopChain> chains, SmallVector<Node> LoopChain::*list) {
  Masks masks;
  for (auto [bit, chain] : llvm::enumerate(chains))
    for (Node node : chain.*list)
      masks[node.getOperation()] |= Mask(1) << bit;
  return masks;
}

void drop(MutableArrayRef<LoopChain> chains, SmallVector<Node> LoopChain::*list,
          const Masks &covered) {
  for (auto [bit, chain] : llvm::enumerate(chains))
    llvm::erase_if(chain.*list, [&, bit = bit](Node node) {
      return covered.lookup(node.getOperation()) >> bit & 1;
    });
}

void dropFirst(MutableArrayRef<LoopChain> chains, SmallVector<Node> LoopChain::*list,
               const BodyEdges &body) {
  Masks waits = membersOf(chains, list), covered;
  for (Operation *op : body.nodes) {
    Mask before = 0;
    body.forEachInput(op, [&](Operation *from) { before |= waits.lookup(from); });
    if (!before)
      continue;
    covered[op] = before;
    waits[op] |= before;
  }
  drop(chains, list, covered);
}

void dropLast(MutableArrayRef<LoopChain> chains, const BodyEdges &body) {
  Masks waited = membersOf(chains, &LoopChain::last), covered;
  for (Operation *op : llvm::reverse(body.nodes))
    if (Mask mask = waited.lookup(op))
      body.forEachInput(op, [&](Operation *from) {
        covered[from] |= mask;
        waited[from] |= mask;
      });
  drop(chains, &LoopChain::last, covered);
}

BodyEdges conditionOf(const LoopOrder &order) {
  return {order.loop.functions[0], order.missingInCondition};
}
BodyEdges bodyOf(const LoopOrder &order) { return {order.loop.functions[1], order.missing}; }

/// The order that loop variables impose between consecutive iterations: the nodes that wait for a
/// variable, and the nodes that its next value waits for. Only variables that the body returns
/// unchanged count; barriers don't, since they are removed. Covers at most 64 variables, from
/// `first` on.
class CarriedOrder {
public:
  static constexpr unsigned most = 64;

  CarriedOrder(const LoopOrder &order, unsigned first) : first(first) {
    for (Node barrier : order.barriers)
      barriers.insert(barrier.getOperation());
    FuncOp condition = order.loop.functions[0], body = order.loop.functions[1];
    findWaiting(conditionOf(order), 0);
    Mask predicate = variablesBehind(condition.getReturn().getData()[0]);
    for (Node node : order.beforePredicate)
      predicate |= waitsFor.lookup(node.getOperation());
    findWaiting(bodyOf(order), predicate);
    findHeld(body, bodyOf(order));
    findAccumulated(body);
  }

  /// Returns whether `to` waits for `from` of the previous iteration.
  bool orders(Operation *from, Operation *to) const {
    return (heldBy.lookup(from) & waitsFor.lookup(to)) != 0;
  }

  const Masks &held() const { return heldBy; }
  /// Returns the nodes that compute a variable's next value from its previous one, so that the
  /// variable's final value waits for each iteration's instance.
  llvm::ArrayRef<Operation *> accumulated() const { return accumulatedBy; }

private:
  /// All nodes wait for the chains in `always`.
  void findWaiting(const BodyEdges &edges, Mask always) {
    for (Operation *op : edges.nodes) {
      Mask mask = always;
      edges.forEachOperand(op, [&](Value value) { mask |= variablesBehind(value); });
      edges.forEachInput(op, [&](Operation *from) { mask |= variablesBehind(from); });
      waitsFor[op] = mask;
    }
  }

  void findHeld(FuncOp body, const BodyEdges &edges) {
    for (auto [variable, value] : llvm::enumerate(body.getReturn().getData()))
      if (Operation *from = value.getDefiningOp(); from && isPassedThrough(body, variable))
        heldBy[from] |= bit(variable);
    for (Operation *op : llvm::reverse(edges.nodes))
      if (Mask mask = barriers.contains(op) ? Mask(0) : heldBy.lookup(op))
        edges.forEachInput(op, [&](Operation *from) { heldBy[from] |= mask; });
  }

  void findAccumulated(FuncOp body) {
    for (auto [variable, value] : llvm::enumerate(body.getReturn().getData()))
      if (Operation *from = value.getDefiningOp(); from && (waitsFor.lookup(from) & bit(variable)))
        accumulatedBy.push_back(from);
  }

  Mask bit(unsigned variable) const {
    return variable >= first && variable - first < most ? Mask(1) << (variable - first) : 0;
  }
  Mask variablesBehind(Operation *op) const {
    return barriers.contains(op) ? Mask(0) : waitsFor.lookup(op);
  }
  Mask variablesBehind(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return bit(argument.getArgNumber() / 2);
    return variablesBehind(value.getDefiningOp());
  }

  unsigned first;
  llvm::DenseSet<Operation *> barriers;
  Masks waitsFor, heldBy;
  SmallVector<Operation *> accumulatedBy;
};

template <typename Visit> void forEachCarriedOrder(const LoopOrder &order, Visit visit) {
  unsigned count = FuncOp(order.loop.functions[1]).getNumDataArguments();
  for (unsigned first = 0; first < count; first += CarriedOrder::most)
    visit(CarriedOrder(order, first));
}

/// Pairs of a node of one iteration and a node of the next one that a chain orders.
using Pairs = SmallVector<std::pair<Operation *, Operation *>>;

Pairs pairsOf(const LoopChain &chain) {
  Pairs pairs;
  for (Node from : chain.last)
    for (const auto *waiting : {&chain.inBody, &chain.inCondition})
      for (Node to : *waiting)
        pairs.emplace_back(from.getOperation(), to.getOperation());
  return pairs;
}

/// Keeps the nodes that no other of these nodes waits for.
void keepLast(SmallVector<Node> &nodes, const BodyEdges &edges) {
  llvm::DenseSet<Operation *> among, waitedFor;
  for (Node node : nodes)
    among.insert(node.getOperation());
  for (Operation *op : llvm::reverse(edges.nodes))
    if (among.contains(op) || waitedFor.contains(op))
      edges.forEachInput(op, [&](Operation *from) { waitedFor.insert(from); });
  llvm::erase_if(nodes, [&](Node node) { return waitedFor.contains(node.getOperation()); });
}

} // namespace

void dropRedundant(LoopOrder &order) {
  BodyEdges condition = conditionOf(order), body = bodyOf(order);
  keepLast(order.beforePredicate, condition);
  // The body starts after the condition's result, which waits for the condition's accesses.
  for (LoopChain &chain : order.chains)
    if (!chain.inCondition.empty())
      chain.inBody.clear();
  for (MutableArrayRef<LoopChain> rest = order.chains; !rest.empty();) {
    MutableArrayRef<LoopChain> some = rest.take_front(chainsAtOnce);
    dropFirst(some, &LoopChain::inCondition, condition);
    dropFirst(some, &LoopChain::inBody, body);
    dropLast(some, body);
    rest = rest.drop_front(some.size());
  }
}

void dropCarried(LoopOrder &order) {
  std::vector<Pairs> pairs(order.chains.size());
  llvm::transform(order.chains, pairs.begin(), pairsOf);
  forEachCarriedOrder(order, [&](const CarriedOrder &carried) {
    for (Pairs &open : pairs)
      llvm::erase_if(open, [&](auto pair) { return carried.orders(pair.first, pair.second); });
  });
  SmallVector<LoopChain> needed;
  for (auto [chain, open] : llvm::zip(order.chains, pairs))
    if (!open.empty())
      needed.push_back(std::move(chain));
  order.chains = std::move(needed);
}

/// Adds the nodes and their transitive dependencies, without those through barriers, which are
/// removed.
static void addNodesBefore(llvm::DenseSet<Operation *> &nodes, const LoopOrder &order,
                           const BodyEdges &body) {
  for (Node barrier : order.barriers)
    nodes.erase(barrier.getOperation());
  for (Operation *op : llvm::reverse(body.nodes))
    if (nodes.contains(op))
      body.forEachInput(op, [&](Operation *from) {
        if (!llvm::is_contained(order.barriers, Node(from)))
          nodes.insert(from);
      });
}

SmallVector<Node> lastUnchained(const LoopOrder &order, const EffectAnalysis &effects) {
  BodyEdges body = bodyOf(order);
  llvm::DenseSet<Operation *> waited, accumulated;
  for (const LoopChain &chain : order.chains)
    for (Node node : chain.last)
      waited.insert(node.getOperation());
  forEachCarriedOrder(order, [&](const CarriedOrder &carried) {
    for (auto [op, variables] : carried.held())
      if (variables != 0)
        waited.insert(op);
    accumulated.insert(carried.accumulated().begin(), carried.accumulated().end());
  });
  addNodesBefore(waited, order, body);
  addNodesBefore(accumulated, order, body);
  auto matters = [&](Operation *op) {
    return mustRun(Node(op), effects) ||
           (!effects.of(Node(op)).empty() && !accumulated.contains(op));
  };
  SmallVector<Node> last;
  for (Operation *op : llvm::reverse(body.nodes)) {
    if (!waited.contains(op)) {
      if (!matters(op))
        continue;
      last.push_back(Node(op));
    }
    body.forEachInput(op, [&](Operation *from) { waited.insert(from); });
  }
  std::reverse(last.begin(), last.end());
  return last;
}

} // namespace treadle::tfg
