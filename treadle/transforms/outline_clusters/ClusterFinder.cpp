#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/transforms/fuse_kernels/ExchangeOrder.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/IntEqClasses.h"

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
    if (!behind.empty())
      for (Value operand : op->getOperands())
        all = sets.join(all, behind.lookup(operand));
    return all;
  }

  void see(Operation *op) {
    Node node(op);
    unsigned common = before(op);
    bool isV1 = isV1ControlFlow(node);
    unsigned all = !isV1 && waiting.waits(node) ? sets.join(common, sets.make()) : common;
    if (isV1 || all)
      for (Value result : op->getResults())
        behind[result] = isV1 ? sets.join(common, sets.make()) : all;
  }

private:
  /// Sets beyond this size are not compared, but taken for different.
  static constexpr size_t largest = 256;

  WaitingNodes &waiting;
  DenseMap<Value, unsigned> behind; // 0 for those that it lacks
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
    Gates gates(waiting);
    for (Operation *op : topologicalOrder(block)) {
      if (!Node::isNode(op) || (isConstant(Node(op)) && !op->getNumOperands()))
        continue;
      Place place{0, gates.before(op), exchanges.classOf(Node(op)),
                  !isConstant(Node(op)) && isCandidate(Node(op))};
      gates.see(op);
      SmallVector<unsigned> inputs = placedInputs(op);
      for (unsigned input : inputs) {
        bool stays = places[input].isCandidate && areTogether(nodes[input], Node(op));
        place.level = std::max(place.level, places[input].level + (place.isCandidate && !stays));
      }
      add(op, place, inputs);
    }
    return sets();
  }

private:
  struct Place {
    unsigned level = 0, gates = 0, exchanges = 0;
    bool isCandidate = false;
    bool operator==(const Place &) const = default;
  };

  /// Returns the indices of the nodes that an op uses.
  SmallVector<unsigned> placedInputs(Operation *op) const {
    SmallVector<unsigned> inputs;
    for (Value operand : op->getOperands())
      if (auto found = indices.find(operand.getDefiningOp()); found != indices.end())
        inputs.push_back(found->second);
    return inputs;
  }

  void add(Operation *op, const Place &place, ArrayRef<unsigned> inputs) {
    unsigned index = nodes.size();
    indices[op] = index;
    nodes.push_back(Node(op));
    places.push_back(place);
    connected.grow(index + 1);
    for (unsigned input : inputs)
      if (place.isCandidate && places[input] == place)
        connected.join(input, index);
  }

  /// Returns the connected candidates, each set in topological order.
  SmallVector<SmallVector<Node>> sets() {
    connected.compress();
    SmallVector<SmallVector<Node>> found(connected.getNumClasses());
    for (unsigned index = 0; index < nodes.size(); ++index)
      if (places[index].isCandidate)
        found[connected[index]].push_back(nodes[index]);
    llvm::erase_if(found, [](const SmallVector<Node> &set) { return set.empty(); });
    return found;
  }

  static bool areTogether(Node a, Node b) { return a.device() == b.device(); }

  Block &block;
  WaitingNodes &waiting;
  ExchangeOrder exchanges;
  DenseMap<Operation *, unsigned> indices;
  SmallVector<Node> nodes; // by index, as the next two
  SmallVector<Place> places;
  llvm::IntEqClasses connected;
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
