#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/transforms/fuse_kernels/CommunicationOrder.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The gates before each value, which may keep it from ever being available: blocking ops, which
/// other nodes may have to unblock, and v1 control flow, after which values may be dead. A call
/// runs once all of its inputs are available, so nodes can only be outlined together if they are
/// behind the same gates.
class Gates {
public:
  explicit Gates(BlockingNodes &waiting) : waiting(waiting) {}

  /// Returns the number of the set of gates before an op. Equal sets have equal numbers.
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
  /// Larger sets aren't compared, and count as different.
  static constexpr size_t largest = 256;

  BlockingNodes &waiting;
  DenseMap<Value, unsigned> behind; // 0 for those that it lacks
  NumberedSets sets{largest};
};

/// Finds the sets of nodes of one body that can become clusters.
///
/// The level of a node is the maximum number of transitions, on a path to it, from nodes that
/// aren't candidates or have another device to candidates. A path between two candidates of one
/// level contains only candidates of that level. So a connected set of them, by data or control
/// edges, can become one node without creating a cycle. The same holds if the set is restricted to
/// nodes behind the same gates, since no path leads from more gates to fewer; and to nodes between
/// the same collectives, which are totally ordered along a path.
///
/// Only candidates that depend on constants alone precede such a candidate, so its level is the
/// lowest of the nodes that use it.
class ClusterSets {
public:
  ClusterSets(Block &block, BlockingNodes &waiting, BlockingNodes &exchanging)
      : block(block), waiting(waiting), exchanges(block, exchanging) {}

  SmallVector<SmallVector<Node>> find(llvm::function_ref<bool(Node)> isCandidate) {
    Gates gates(waiting);
    for (Operation *op : topologicalOrder(block)) {
      if (!Node::isNode(op) || (isConstant(Node(op)) && !op->getNumOperands()))
        continue;
      ClusterPosition place{0, gates.before(op), exchanges.classOf(Node(op)),
                            !isConstant(Node(op)) && isCandidate(Node(op))};
      gates.see(op);
      SmallVector<unsigned> inputs = placedInputs(op);
      for (unsigned input : inputs) {
        bool stays = places[input].isCandidate && areTogether(nodes[input], Node(op));
        place.level = std::max(place.level, places[input].level + (place.isCandidate && !stays));
      }
      add(op, place, inputs);
    }
    placeSources();
    return sets();
  }

private:
  struct ClusterPosition {
    unsigned level = 0, gates = 0, exchanges = 0;
    bool isCandidate = false;
    bool operator==(const ClusterPosition &) const = default;
  };

  /// Returns the indices of the nodes that an op uses.
  SmallVector<unsigned> placedInputs(Operation *op) const {
    SmallVector<unsigned> inputs;
    for (Value operand : op->getOperands())
      if (auto found = indices.find(operand.getDefiningOp()); found != indices.end())
        inputs.push_back(found->second);
    return inputs;
  }

  void add(Operation *op, const ClusterPosition &place, ArrayRef<unsigned> inputs) {
    unsigned index = nodes.size();
    indices[op] = index;
    nodes.push_back(Node(op));
    places.push_back(place);
    connected.grow(index + 1);
    for (unsigned input : inputs)
      if (!isSource[input])
        connect(input, index);
    isSource.push_back(place.isCandidate &&
                       llvm::all_of(inputs, [&](unsigned input) { return isSource[input]; }));
  }

  void connect(unsigned a, unsigned b) {
    if (places[a].isCandidate && places[a] == places[b])
      connected.join(a, b);
  }

  void placeSources() {
    for (unsigned source = nodes.size(); source-- > 0;) {
      if (!isSource[source])
        continue;
      SmallVector<unsigned> together;
      unsigned lowest = ~0U;
      for (Operation *user : nodes[source]->getUsers()) {
        auto found = indices.find(user);
        if (found == indices.end())
          continue;
        unsigned index = found->second;
        bool isApart = places[index].isCandidate && !areTogether(nodes[source], nodes[index]);
        lowest = std::min(lowest, places[index].level - isApart);
        if (!isApart)
          together.push_back(index);
      }
      places[source].level = lowest == ~0U ? 0 : lowest;
      for (unsigned user : together)
        connect(source, user);
    }
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
  BlockingNodes &waiting;
  CommunicationOrder exchanges;
  DenseMap<Operation *, unsigned> indices;
  SmallVector<Node> nodes; // by index, as the next two
  SmallVector<ClusterPosition> places;
  SmallVector<bool> isSource; // by index: candidates that depend on constants alone
  llvm::IntEqClasses connected;
};

bool isCheck(Operation &op) { return Node::isNode(&op) && opFacts(Node(&op).opType()).checks; }

/// Returns whether a node that only forwards elements may fail, because a size isn't known.
bool mayFailBySize(Node node) {
  auto isKnown = [](Type type) {
    auto tensor = dyn_cast<ShapedType>(type);
    return !tensor || tensor.hasStaticShape();
  };
  return opFacts(node.opType()).totality == Totality::MayFail &&
         nativeForm(node) == NativeForm::Passes &&
         !(llvm::all_of(node->getOperandTypes(), isKnown) &&
           llvm::all_of(node->getResultTypes(), isKnown));
}

bool isProfitable(ArrayRef<Node> nodes) {
  StraightWork work;
  return llvm::any_of(nodes, [&](Node node) { return work.add(node); });
}

} // namespace

std::vector<Cluster> ClusterFinder::loops(Block &body, const RequestedNames &names) {
  if (llvm::none_of(body, [&](Operation &op) { return Node::isNode(&op) && hasLoop(Node(&op)); }))
    return {};
  // Outside of loops, nodes with side effects and Python code gain nothing from compilation; checks
  // must stay before the nodes that they guard.
  auto isCandidate = [&](Node node) {
    if (names.kept.contains(node.name()))
      return false;
    const Compilable::Properties known = compilable.of(node);
    return known.obstacle.empty() && (hasLoop(node) || opFacts(node.opType()).checks ||
                                      !(known.hasEffects || known.runsPython));
  };
  std::vector<Cluster> found;
  for (SmallVector<Node> &nodes : ClusterSets(body, waiting, exchanging).find(isCandidate)) {
    if (llvm::none_of(nodes, [&](Node node) { return hasLoop(node); }))
      continue;
    Compilable::Properties all;
    for (Node node : nodes)
      all.include(compilable.of(node), [] { return ""; });
    if (resultsOf(nodes, names.fetched).empty() && !all.hasEffects)
      continue;
    found.push_back({std::move(nodes), all.hasEffects || all.reads, all.runsPython});
  }
  return found;
}

std::vector<Cluster> ClusterFinder::straight(Block &body, const RequestedNames &names) {
  if (body.getOperations().size() > maxGraphNodes)
    return {};
  // The error of a check comes before the errors that it explains: its condition isn't computed by
  // a cluster that may fail.
  const bool hasChecks = llvm::any_of(body, isCheck);
  auto isSmall = [&](Node node) {
    if (hasChecks || !isSmallWork(node))
      return false;
    const Compilable::Properties known = compilable.of(node);
    return known.obstacle.empty() && !known.hasEffects && !known.reads && !known.runsPython;
  };
  auto isNative = [&](Node node) {
    return nativeForm(node) != NativeForm::None && !isInEpilogue(node) &&
           !(hasChecks && mayFailBySize(node));
  };
  auto isCandidate = [&](Node node) {
    return !names.kept.contains(node.name()) && (isNative(node) || isSmall(node));
  };
  std::vector<Cluster> found;
  for (const SmallVector<Node> &nodes : ClusterSets(body, waiting, exchanging).find(isCandidate))
    for (ArrayRef<Node> left = nodes; !left.empty();) {
      // The set is split in topological order, so no path leads back to an earlier part.
      ArrayRef<Node> part = left.take_front(maxCompiledNodes);
      left = left.drop_front(part.size());
      if (isProfitable(part) && !resultsOf(part, names.fetched).empty())
        found.push_back({SmallVector<Node>(part)});
    }
  return found;
}

} // namespace treadle::tfg
