#include "treadle/transforms/v1_to_functional/Deadness.h"

#include "treadle/transforms/v1_to_functional/Loops.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;

namespace treadle::tfg {

// --- sets ----------------------------------------------------------------------------------------

Deadness::Set Deadness::intern(std::vector<Condition> conditions) {
  auto [it, isNew] = setNumbers.try_emplace(std::move(conditions), static_cast<Set>(sets.size()));
  if (isNew)
    sets.push_back(it->first);
  return it->second;
}

Deadness::Set Deadness::join(Set a, Set b) {
  if (a == b || b == 0)
    return a;
  if (a == 0)
    return b;
  auto [it, isNew] = joins.try_emplace(std::minmax(a, b), 0);
  if (isNew) {
    std::vector<Condition> both;
    std::ranges::set_union(sets[a], sets[b], std::back_inserter(both));
    it->second = intern(std::move(both));
  }
  return it->second;
}

Deadness::Set Deadness::without(Set a, Condition condition) {
  std::vector<Condition> rest = sets[a];
  std::erase(rest, condition);
  return intern(std::move(rest));
}

bool Deadness::follows(Operation *b, Operation *a) {
  Set ofB = ofNode.lookup(b);
  return isRightForm && join(ofNode.lookup(a), ofB) == ofB;
}

// --- nodes ---------------------------------------------------------------------------------------

static bool isSwitch(Node node) { return v1Kind(node) == "Switch" || node.opType() == "_SwitchN"; }

// Copies of a predicate are the same predicate.
static const void *predicateOf(Node switchNode) {
  Value value = switchNode->getOperand(1);
  for (Node from(value.getDefiningOp()); from && from.opType() == "Identity" && from.numData() != 0;
       from = Node(value.getDefiningOp()))
    value = from->getOperand(0);
  return value.getAsOpaquePointer();
}

Deadness::Set Deadness::of(Value value) {
  Node node(value.getDefiningOp());
  if (!node)
    return 0;
  Set set = ofNode.lookup(node.getOperation());
  if (isControl(value) || !isSwitch(node))
    return set;
  auto side = static_cast<int32_t>(cast<OpResult>(value).getResultNumber());
  return join(set, intern({{predicateOf(node), side}}));
}

// The two sides of one predicate meet again, or nothing is known. A loop's Merge starts as its
// Enter.
Deadness::Set Deadness::ofMerge(Node node) {
  if (node.numData() != 2)
    return aliveItself(node);
  for (unsigned k : {0, 1})
    if (Node next(node->getOperand(k).getDefiningOp()); next && v1Kind(next) == "NextIteration")
      return of(node->getOperand(1 - k));
  Set a = of(node->getOperand(0)), b = of(node->getOperand(1));
  if (a == b)
    return a;
  for (Condition c : sets[a]) {
    Condition other(c.first, 1 - c.second);
    if (c.second >= 0 && std::ranges::binary_search(sets[b], other) &&
        without(a, c) == without(b, other))
      return without(a, c);
  }
  return aliveItself(node);
}

// What leaves a loop has waited for its condition to be false, in some iteration.
Deadness::Set Deadness::ofExit(Node node) {
  Value value = node->getOperand(0);
  Node from(value.getDefiningOp());
  if (!from || !isSwitch(from) || cast<OpResult>(value).getResultNumber() != 0)
    return aliveItself(node);
  const void *predicate = predicateOf(from);
  Node condition(Value::getFromOpaquePointer(predicate).getDefiningOp());
  if (!condition || condition.opType() != "LoopCond")
    return aliveItself(node);
  return without(ofNode.lookup(from.getOperation()), {predicate, 0});
}

Deadness::Set Deadness::of(Node node) {
  if (node.opType() == "ControlTrigger")
    return 0; // always alive
  if (v1Kind(node) == "Merge")
    return ofMerge(node);
  if (v1Kind(node) == "Exit")
    return ofExit(node);
  Set set = 0;
  for (Value input : node->getOperands())
    set = join(set, of(input));
  return set;
}

/// Whether it has the inputs and outputs that everybody relies on. The importer of GraphDefs makes
/// no others, but MLIR text can have them.
static bool hasRightForm(Node node) {
  struct Least {
    unsigned inputs, outputs;
  };
  StringRef kind = v1Kind(node);
  Least least = isSwitch(node)           ? Least{2, 1}
                : !isV1ControlFlow(node) ? Least{0, 0}
                : kind == "Merge"        ? Least{1, 2}
                                         : Least{1, 1};
  if (kind == "Switch")
    least.outputs = 2;
  return node.numData() >= least.inputs && node.numResults() >= least.outputs;
}

/// Whether the node stands behind its inputs. Edges back to a Merge count for no order.
bool Deadness::mayFollow(Node node) const {
  bool isMerge = v1Kind(node) == "Merge";
  return llvm::all_of(node->getOperands(), [&](Value input) {
    Operation *from = input.getDefiningOp();
    return !from || ofNode.contains(from) || (isMerge && v1Kind(Node(from)) == "NextIteration");
  });
}

Deadness::Deadness(ArrayRef<Operation *> order) {
  intern({});
  for (Operation *op : order) {
    Node node(op);
    if (!Node::isNode(op) || !hasRightForm(node) || !mayFollow(node)) {
      isRightForm = false;
      return;
    }
    ofNode[op] = of(node);
  }
}

} // namespace treadle::tfg
