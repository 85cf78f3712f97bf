#include "treadle/transforms/v1_to_functional/Branches.h"

#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Loops.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;

namespace treadle::tfg {

static StringRef kindOf(Operation *op) {
  return op && Node::isNode(op) ? v1Kind(Node(op)) : StringRef();
}

static bool isSwitch(Operation *op) {
  StringRef kind = kindOf(op);
  return kind == "Switch" || kind == "_SwitchN";
}

static unsigned depthOf(const Branch *branch) {
  return branch ? branch->conditional->depth + 1 : 0;
}

Branches::Branches(Block &body) {
  for (Operation *op : topologicalOrder(body))
    if (Node::isNode(op))
      place(Node(op));
}

std::vector<Conditional *> Branches::innermostFirst() const {
  unsigned depths = 0;
  for (const std::unique_ptr<Conditional> &conditional : all)
    depths = std::max(depths, conditional->depth + 1);
  std::vector<std::vector<Conditional *>> byDepth(depths);
  for (const std::unique_ptr<Conditional> &conditional : all)
    byDepth[conditional->depth].push_back(conditional.get());
  std::vector<Conditional *> result;
  for (const std::vector<Conditional *> &conditionals : llvm::reverse(byDepth))
    llvm::append_range(result, conditionals);
  return result;
}

Branch *Branches::branchOf(Value value) const {
  Operation *op = value.getDefiningOp();
  Conditional *conditional = conditionalOf(op);
  if (!conditional || isControl(value))
    return branchOf(op);
  return conditional->branches[cast<OpResult>(value).getResultNumber()];
}

bool Branches::isWithin(const Branch *inner, const Branch *outer) {
  while (depthOf(inner) > depthOf(outer))
    inner = inner->conditional->parent;
  return inner == outer;
}

Value Branches::rootOf(Value predicate) {
  for (;;) {
    Operation *op = predicate.getDefiningOp();
    bool handsOn = op && (kindOf(op) == "Identity" || isSwitch(op)) && !isControl(predicate);
    if (!handsOn)
      return predicate;
    predicate = op->getOperand(0);
  }
}

void Branches::place(Node node) {
  StringRef kind = v1Kind(node);
  Operation *op = node.getOperation();
  if (isSwitch(op))
    return placeSwitch(node);
  if (kind == "Merge" && llvm::none_of(node.data(), [](Value value) {
        return kindOf(value.getDefiningOp()) == "NextIteration";
      }))
    return placeMerge(node);
  // A ControlTrigger runs even if its inputs are dead.
  if (kind == "ControlTrigger")
    return add(op, nullptr);
  Branch *branch = nullptr;
  if (!innermost(node, branch))
    markUnstructured(op);
  add(op, branch);
}

bool Branches::innermost(Node node, Branch *&result) {
  bool isOne = true;
  for (Value input : node->getOperands()) {
    Operation *op = input.getDefiningOp();
    if (!op || !nodes.contains(op))
      continue; // an argument, or a back edge
    if (isUnstructured(op))
      return false;
    Branch *branch = branchOf(input);
    if (isWithin(branch, result))
      result = branch;
    else
      isOne = isOne && isWithin(result, branch);
  }
  return isOne;
}

void Branches::placeSwitch(Node node) {
  Branch *branch = nullptr;
  if (!innermost(node, branch))
    return markUnstructured(node.getOperation());
  add(node.getOperation(), branch);
  Value predicate = rootOf(node.data()[1]);
  // The Switch of a loop that wasn't converted is an ordinary node.
  if (kindOf(predicate.getDefiningOp()) == "LoopCond")
    return;
  for (Branch *outer = branch; outer; outer = outer->conditional->parent)
    if (outer->conditional->predicate == predicate &&
        outer->conditional->origin == loweredFrom(node))
      return markUnstructured(node.getOperation());
  Conditional *conditional = conditionalAt(branch, predicate, node);
  if (conditional->branches.size() != node.numResults())
    return markUnstructured(node.getOperation());
  conditional->switches.push_back(node.getOperation());
  switches[node.getOperation()] = conditional;
}

void Branches::placeMerge(Node node) {
  Conditional *conditional = nullptr;
  llvm::DenseSet<Branch *> seen;
  bool isConditional = true;
  for (Value input : node.data()) {
    Branch *branch = input.getDefiningOp() ? branchOf(input) : nullptr;
    isConditional = isConditional && branch && !isUnstructured(input.getDefiningOp()) &&
                    (!conditional || conditional == branch->conditional) &&
                    seen.insert(branch).second;
    if (isConditional)
      conditional = branch->conditional;
  }
  isConditional = isConditional && conditional && seen.size() == conditional->branches.size();
  for (Value token : node.control())
    isConditional = isConditional && isWithin(conditional->parent, branchOf(token));
  if (!isConditional)
    return markUnstructured(node.getOperation());
  conditional->merges.push_back(node.getOperation());
  add(node.getOperation(), conditional->parent);
}

/// Returns the conditional that a Switch belongs to.
Conditional *Branches::conditionalAt(Branch *parent, Value predicate, Node node) {
  Conditional *&conditional = byPredicate[{parent, predicate, loweredFrom(node)}];
  if (conditional)
    return conditional;
  conditional = all.emplace_back(std::make_unique<Conditional>()).get();
  conditional->parent = parent;
  conditional->predicate = predicate;
  conditional->origin = loweredFrom(node);
  conditional->depth = depthOf(parent);
  if (parent)
    parent->conditionals.push_back(conditional);
  for (unsigned side = 0, e = node.numResults(); side < e; ++side) {
    Branch *branch = branches.emplace_back(std::make_unique<Branch>()).get();
    branch->conditional = conditional;
    branch->side = side;
    conditional->branches.push_back(branch);
  }
  return conditional;
}

// Marks the conditionals that the node depends on as unstructured.
void Branches::markUnstructured(Operation *op) {
  nodes.try_emplace(op, nullptr);
  unstructured.insert(op);
}

} // namespace treadle::tfg
