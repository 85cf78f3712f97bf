#include "treadle/transforms/v1_to_functional/Deadness.h"

#include "treadle/rewriting/Frames.h"
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

// --- nodes ---------------------------------------------------------------------------------------

static bool isSwitch(Node node) { return v1Kind(node) == "Switch" || node.opType() == "_SwitchN"; }

// Copies of a predicate count as the same predicate.
static const void *predicateOf(Node switchNode) {
  Value value = switchNode->getOperand(1);
  for (Node from(value.getDefiningOp()); from && from.opType() == "Identity" && from.numData() != 0;
       from = Node(value.getDefiningOp()))
    value = from->getOperand(0);
  return value.getAsOpaquePointer();
}

/// Returns whether the node's result is available only in the first iteration of a loop.
static bool isFirstOnly(Node node) { return v1Kind(node) == "Enter" && !isConstantEnter(node); }

Deadness::Set Deadness::of(Value value) {
  Node node(value.getDefiningOp());
  if (!node)
    return 0;
  Set set = ofNode.lookup(node.getOperation());
  if (isFirstOnly(node))
    return join(set, aliveItself(node));
  if (isControl(value) || !isSwitch(node))
    return set;
  auto side = static_cast<int32_t>(cast<OpResult>(value).getResultNumber());
  return join(set, intern({{predicateOf(node), side}}));
}

/// Returns the common condition if the inputs cover all outcomes of one predicate.
std::optional<Deadness::Set> Deadness::commonConditions(ArrayRef<Set> inputs) {
  const std::vector<Condition> first = sets[inputs[0]]; // creating sets invalidates references
  for (Condition c : first) {
    if (c.second < 0 || numSides.lookup(c.first) != inputs.size())
      continue;
    Set rest = without(inputs[0], c);
    llvm::SmallDenseSet<int32_t> seen;
    auto isOtherSide = [&](Set input) {
      auto side = llvm::find_if(sets[input], [&](Condition d) { return d.first == c.first; });
      return side != sets[input].end() && seen.insert(side->second).second &&
             without(input, *side) == rest;
    };
    if (llvm::all_of(inputs, isOtherSide))
      return rest;
  }
  return std::nullopt;
}

// A loop's Merge starts alive if its Enter is. Any other Merge requires what all of its inputs
// require.
Deadness::Set Deadness::ofMerge(Node node) {
  SmallVector<Set> inputs;
  for (Value input : node.data())
    if (Node from(input.getDefiningOp()); !from || v1Kind(from) != "NextIteration")
      inputs.push_back(from && isFirstOnly(from) ? of(from.getOperation()) : of(input));
  if (inputs.empty())
    return aliveItself(node);
  if (llvm::all_equal(inputs))
    return inputs[0];
  if (std::optional<Set> met = commonConditions(inputs))
    return *met;
  std::vector<Condition> common = sets[inputs[0]];
  for (Set input : inputs)
    std::erase_if(common, [&](Condition c) { return !std::ranges::binary_search(sets[input], c); });
  return join(aliveItself(node), intern(std::move(common)));
}

// The result of a loop is available once its condition was false in some iteration.
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

Deadness::Set Deadness::find(Node node) {
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

/// Returns whether a v1 control flow node has the inputs and outputs of its op. The GraphDef
/// importer guarantees that, but MLIR text doesn't.
static bool hasRightForm(Node node) {
  struct MinimumArity {
    unsigned inputs, outputs;
  };
  StringRef kind = v1Kind(node);
  MinimumArity least = isSwitch(node)           ? MinimumArity{2, 1}
                       : !isV1ControlFlow(node) ? MinimumArity{0, 0}
                       : kind == "Merge"        ? MinimumArity{1, 2}
                                                : MinimumArity{1, 1};
  if (kind == "Switch")
    least.outputs = 2;
  return node.numData() >= least.inputs && node.numResults() >= least.outputs;
}

/// Returns whether the node comes after its inputs in the order, except for back edges to a Merge.
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
    if (isSwitch(node))
      numSides[predicateOf(node)] = node.numResults();
    ofNode[op] = find(node);
  }
}

} // namespace treadle::tfg
