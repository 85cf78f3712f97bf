// Sorts topologically by counting, and finds a cycle if that fails.
#include "treadle/import/Cycles.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

class CycleChecker {
public:
  CycleChecker(Block &block, OpSignatures &signatures) : signatures(signatures) {
    for (Operation &op : block) {
      index[&op] = ops.size();
      ops.push_back(&op);
    }
    waiting.resize(ops.size());
  }

  Expected<void> run() {
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        waiting[index[op]] += isForward(operand, op);
    SmallVector<Operation *> ready;
    for (Operation *op : ops)
      if (waiting[index[op]] == 0)
        ready.push_back(op);
    size_t done = 0;
    for (; !ready.empty(); ++done) {
      Operation *op = ready.pop_back_val();
      for (OpOperand &use : op->getUses())
        if (isForward(use.get(), use.getOwner()) && --waiting[index[use.getOwner()]] == 0)
          ready.push_back(use.getOwner());
    }
    if (done == ops.size())
      return {};
    return Unexpected(invalidArgument(describe()));
  }

private:
  /// Whether the edge isn't a loop's back edge.
  bool isForward(Value operand, Operation *user) {
    Operation *producer = operand.getDefiningOp();
    if (!producer)
      return false;
    return !(isOp(user, &OpSignature::isMerge) && isOp(producer, &OpSignature::isNextIteration));
  }

  bool isOp(Operation *op, bool OpSignature::*flag) {
    auto [it, inserted] = byName.try_emplace(op->getName().getAsOpaquePointer());
    if (inserted && tfg::Node::isNode(op))
      it->second = &signatures.lookup(tfg::Node(op).opType());
    return it->second && it->second->*flag;
  }

  /// Describes one of the cycles, found by walking backwards from a node that never became ready:
  /// each of its predecessors that didn't become ready leads into a cycle.
  std::string describe() {
    Operation *op = *llvm::find_if(ops, [&](Operation *op) { return waiting[index[op]] != 0; });
    llvm::DenseMap<Operation *, size_t> seen;
    SmallVector<Operation *> path;
    while (seen.try_emplace(op, path.size()).second) {
      path.push_back(op);
      for (Value operand : op->getOperands())
        if (isForward(operand, op) && waiting[index[operand.getDefiningOp()]] != 0) {
          op = operand.getDefiningOp();
          break;
        }
    }
    ArrayRef<Operation *> cycle = ArrayRef(path).drop_front(seen[op]);
    return text(cycle);
  }

  static std::string text(ArrayRef<Operation *> cycle) {
    constexpr size_t maxShown = 8;
    tfg::Node first = tfg::definingNode(cycle.front()->getResult(0));
    std::string result = str("node '", first.name().str(), "' (", first.opType().str(),
                             "): it depends on itself, through ");
    bool isFirst = true;
    for (Operation *op : cycle.drop_front().take_front(maxShown)) {
      if (!tfg::Node::isNode(op))
        continue;
      result += str(isFirst ? "" : ", ", "'", tfg::Node(op).name().str(), "'");
      isFirst = false;
    }
    if (isFirst)
      result += "its own input";
    if (cycle.size() > maxShown + 1)
      result += str(" and ", cycle.size() - maxShown - 1, " more");
    return result + "; a cycle must be a loop: only the edge from a NextIteration to a Merge may "
                    "close it";
  }

  OpSignatures &signatures;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> index;
  std::vector<unsigned> waiting;
  llvm::DenseMap<const void *, const OpSignature *> byName;
};

} // namespace

Expected<void> graphdef::checkCycles(Block &block, OpSignatures &signatures) {
  return CycleChecker(block, signatures).run();
}
