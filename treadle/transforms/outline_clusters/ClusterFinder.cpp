#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/transforms/fuse_kernels/ExchangeOrder.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// What may keep a node from ever running, for each value: blocking ops, which others may have to
/// set free, and v1 control flow, behind which values may be dead. A call runs once all that it is
/// given is there; so nodes can become one only if the same may keep each of them.
class Gates {
public:
  explicit Gates(WaitingNodes &waiting) : waiting(waiting) {}

  /// A number for what is before an op. Equal where the same is.
  unsigned before(Operation *op) {
    unsigned all = 0;
    for (Value operand : op->getOperands())
      all = sets.join(all, behind.lookup(operand));
    return all;
  }

  void see(Operation *op) {
    Node node(op);
    unsigned common = before(op);
    bool isV1 = isV1ControlFlow(node);
    unsigned all = !isV1 && waiting.waits(node) ? sets.join(common, sets.make()) : common;
    for (Value result : op->getResults())
      behind[result] = isV1 ? sets.join(common, sets.make()) : all;
  }

private:
  /// Sets beyond this size are not compared, but taken for different.
  static constexpr size_t largest = 256;

  WaitingNodes &waiting;
  DenseMap<Value, unsigned> behind;
  NumberedSets sets{largest};
};

/// The sets of nodes of one body that can become clusters.
///
/// A node gets a level: how often the longest path to it goes from nodes that aren't candidates, or
/// are for another device, to nodes that are. A path between two candidates of one level stays
/// among those, so a set of them that edges, also of control, connect can become one node; also if
/// it keeps to nodes behind the same gates, since no path leads from more gates to fewer; and to
/// nodes between the same exchanges, since along a path these come one by one.
class ClusterSets {
public:
  ClusterSets(Block &block, WaitingNodes &waiting, WaitingNodes &exchanging)
      : block(block), waiting(waiting), exchanges(block, exchanging) {}

  SmallVector<SmallVector<Node>> find(llvm::function_ref<bool(Node)> isCandidate) {
    llvm::EquivalenceClasses<Operation *> connected;
    DenseMap<Operation *, Place> places;
    DenseSet<Operation *> candidates;
    Gates gates(waiting);
    std::vector<Operation *> order = topologicalOrder(block);
    for (Operation *op : order) {
      if (!Node::isNode(op) || (isConstant(Node(op)) && !op->getNumOperands()))
        continue;
      Place place{0, gates.before(op), exchanges.classOf(Node(op))};
      gates.see(op);
      bool isOne = !isConstant(Node(op)) && isCandidate(Node(op));
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && places.contains(from))
          place.level =
              std::max(place.level, places[from].level + (isOne && !(candidates.contains(from) &&
                                                                     areTogether(from, op))));
      places[op] = place;
      if (!isOne)
        continue;
      candidates.insert(op);
      connected.insert(op);
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp();
            from && candidates.contains(from) && places[from] == place)
          connected.unionSets(from, op);
    }
    llvm::MapVector<Operation *, SmallVector<Node>> found;
    for (Operation *op : order)
      if (candidates.contains(op))
        found[connected.getLeaderValue(op)].push_back(Node(op));
    SmallVector<SmallVector<Node>> result;
    for (auto &[leader, nodes] : found)
      result.push_back(std::move(nodes));
    return result;
  }

private:
  struct Place {
    unsigned level = 0, gates = 0, exchanges = 0;
    bool operator==(const Place &) const = default;
  };

  static bool areTogether(Node a, Node b) { return a.device() == b.device(); }

  Block &block;
  WaitingNodes &waiting;
  ExchangeOrder exchanges;
};

bool isWorthCompiling(ArrayRef<Node> nodes) {
  return llvm::count_if(nodes, [](Node node) {
           return nativeForm(node) == NativeForm::Computes;
         }) >= worthCompiling;
}

} // namespace

std::vector<Cluster> ClusterFinder::loops(Block &body, const AskedNames &names) {
  if (llvm::none_of(body, [&](Operation &op) { return Node::isNode(&op) && hasLoop(Node(&op)); }))
    return {};
  WaitingNodes waiting(functionOf, WaitingNodes::ForAnything),
      exchanging(functionOf, WaitingNodes::ForOthers);
  // What acts outside of loops is as fast by itself; checks stay before what they are for.
  auto isCandidate = [&](Node node) {
    return !names.kept.contains(node.name()) && compilable.obstacle(node).empty() &&
           (!compilable.acts(node) || hasLoop(node) || opFacts(node.opType()).checks);
  };
  std::vector<Cluster> found;
  for (SmallVector<Node> &nodes : ClusterSets(body, waiting, exchanging).find(isCandidate)) {
    auto acts = [&](Node node) { return compilable.acts(node); };
    auto reads = [&](Node node) { return compilable.readsVariables(node); };
    if (llvm::none_of(nodes, [&](Node node) { return hasLoop(node); }) ||
        (resultsOf(nodes, names.fetched).empty() && llvm::none_of(nodes, acts)))
      continue;
    bool isStateful = llvm::any_of(nodes, acts) || llvm::any_of(nodes, reads);
    found.push_back({std::move(nodes), isStateful});
  }
  return found;
}

std::vector<Cluster> ClusterFinder::straight(Block &body, const AskedNames &names) {
  if (body.getOperations().size() > mostOfGraph)
    return {};
  WaitingNodes waiting(functionOf, WaitingNodes::ForAnything),
      exchanging(functionOf, WaitingNodes::ForOthers);
  auto isCandidate = [&](Node node) {
    return nativeForm(node) != NativeForm::None && !names.kept.contains(node.name()) &&
           !followsContraction(node);
  };
  std::vector<Cluster> found;
  for (const SmallVector<Node> &nodes : ClusterSets(body, waiting, exchanging).find(isCandidate))
    for (ArrayRef<Node> left = nodes; !left.empty();) {
      // Parts of a set in topological order: no path leads back to an earlier one.
      ArrayRef<Node> part = left.take_front(mostCompiled);
      left = left.drop_front(part.size());
      if (isWorthCompiling(part) && !resultsOf(part, names.fetched).empty())
        found.push_back({SmallVector<Node>(part)});
    }
  return found;
}

} // namespace treadle::tfg
