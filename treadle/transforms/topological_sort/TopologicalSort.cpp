#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/Passes.h"

#include "treadle/dialect/Tfg.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/Rewriting.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <queue>

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_TOPOLOGICALSORT
#include "treadle/transforms/Passes.h.inc"

namespace tfg {

// Kahn's algorithm: visits the ready nodes in the given order. If no node is ready, the first
// remaining node is on a cycle and is visited next.
std::vector<Operation *> topologicalOrder(Block &body) {
  std::vector<Operation *> nodes;
  std::vector<bool> endsIteration; // by position
  llvm::DenseMap<Operation *, unsigned> position;
  for (Operation &op : body) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    position[&op] = nodes.size();
    nodes.push_back(&op);
    endsIteration.push_back(feedsNextIteration(&op));
  }
  std::vector<unsigned> waiting(nodes.size(), 0);
  auto isInput = [&](Value value) {
    auto from = position.find(value.getDefiningOp());
    return from != position.end() && !endsIteration[from->second];
  };
  // Operands of nodes in regions count as operands of the enclosing node.
  auto countInputs = [&](Operation *op) {
    unsigned count = llvm::count_if(op->getOperands(), isInput);
    for (Region &region : op->getRegions())
      region.walk(
          [&](Operation *inner) { count += llvm::count_if(inner->getOperands(), isInput); });
    return count;
  };
  auto userAt = [&](OpOperand &use) {
    Operation *owner = use.getOwner();
    return position.find(owner->getBlock() == &body ? owner : body.findAncestorOpInBlock(*owner));
  };
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (auto [index, op] : llvm::enumerate(nodes)) {
    waiting[index] = countInputs(op);
    if (!waiting[index])
      ready.push(index);
  }
  std::vector<Operation *> order;
  order.reserve(nodes.size());
  std::vector<bool> isDone(nodes.size());
  for (unsigned firstLeft = 0; order.size() < nodes.size();) {
    if (ready.empty()) {
      while (isDone[firstLeft])
        ++firstLeft;
      ready.push(firstLeft);
    }
    unsigned index = ready.top();
    ready.pop();
    if (isDone[index])
      continue;
    isDone[index] = true;
    order.push_back(nodes[index]);
    if (endsIteration[index])
      continue;
    for (OpOperand &use : nodes[index]->getUses())
      if (auto user = userAt(use); user != position.end() && --waiting[user->second] == 0)
        ready.push(user->second);
  }
  return order;
}

void sortTopologically(Block &body) {
  Operation *previous = nullptr;
  for (Operation *op : topologicalOrder(body)) {
    if (previous)
      op->moveAfter(previous);
    else if (op != &body.front())
      op->moveBefore(&body.front());
    previous = op;
  }
}

} // namespace tfg

namespace {

struct TopologicalSort : impl::TopologicalSortBase<TopologicalSort> {
  void runOnOperation() override {
    tfg::forEachBody(getOperation(), sortWithRegions, /*withGeneric=*/true);
  }

  static void sortWithRegions(Block &body) {
    tfg::sortTopologically(body);
    for (Operation &op : body)
      for (Region &region : op.getRegions())
        sortWithRegions(region.front());
  }
};

} // namespace
} // namespace treadle
