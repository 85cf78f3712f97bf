#include "treadle/transforms/v1_to_functional/BodyConversion.h"

#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Loops.h"

using namespace mlir;

namespace treadle::tfg {

BodyConversion::BodyConversion(Conversion &conversion, Block &block)
    : conversion(conversion), block(block), branches(block), names(block) {
  std::vector<Operation *> sorted = topologicalOrder(block);
  if (llvm::any_of(sorted, [](Operation *op) {
        return Node::isNode(op) && v1Kind(Node(op)) == "NextIteration";
      })) {
    deadness.emplace(sorted);
    for (const std::unique_ptr<Loop> &loop : findLoops(sorted))
      if (loop->hasFeedback)
        loop->forEachNode([&](Operation *op) { inFeedback.insert(op); });
  }
  order.resize(sorted.size() + 1);
  for (auto [index, op] : llvm::enumerate(sorted))
    place(op, index + 1);
  // Enough for all conditionals of most graphs; takes a few seconds for a million nodes.
  remainingVisits = 16 * order.size() + (size_t{1} << 22);
  findNeeded();
}

void BodyConversion::add(Operation *op, Branch *branch) {
  branches.add(op, branch);
  needed.insert(op);
}

void BodyConversion::addHandingOn(Operation *op, Operation *source) {
  add(op, nullptr);
  handedOn[op] = source;
  if (deadness)
    deadness->set(op, deadness->of(source));
}

void BodyConversion::kill(Operation *op) {
  dead.insert(op);
  if (op->getBlock() != &block)
    return;
  op->dropAllUses();
  op->dropAllReferences();
}

void BodyConversion::eraseDead() {
  for (Operation *op : dead)
    if (op->getBlock() == &block)
      op->erase();
}

bool BodyConversion::mayVisit(unsigned positions) {
  if (positions > remainingVisits)
    return false;
  remainingVisits -= positions;
  return true;
}

/// Finds the nodes that must run: nodes outside of branches, and their dependencies. In a branch of
/// a graph, other nodes run only if they are fetched, which `keep` would state. All Merges of a
/// needed conditional are needed, because their users may stay if the enclosing conditional does.
void BodyConversion::findNeeded() {
  SmallVector<Operation *> pending;
  auto push = [&](Operation *op) {
    if (op && needed.insert(op).second)
      pending.push_back(op);
  };
  for (Operation &op : block) {
    bool isRoot = !Node::isNode(&op) || branches.isUnstructured(&op) ||
                  (!branches.branchOf(&op) && !branches.conditionalOf(&op)) ||
                  conversion.isKept(Node(&op)) ||
                  (runsAllNodes(block) && !isV1ControlFlow(Node(&op)) &&
                   !conversion.effects.isPure(Node(&op)));
    if (isRoot)
      push(&op);
  }
  llvm::SmallPtrSet<Conditional *, 8> neededConditionals;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    Branch *branch = branches.branchOf(op);
    if (branch && neededConditionals.insert(branch->conditional).second)
      llvm::for_each(branch->conditional->merges, push);
    for (Value input : op->getOperands())
      push(input.getDefiningOp());
  }
}

} // namespace treadle::tfg
