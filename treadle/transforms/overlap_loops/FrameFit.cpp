#include "treadle/transforms/overlap_loops/FrameFit.h"

#include "treadle/transforms/functional_to_v1/Lowering.h"
#include "treadle/transforms/inline_calls/Callee.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {

/// Returns whether a loop in the function, directly or not, calls the function again.
static bool isRecursive(FuncOp function, const FunctionMap &functions) {
  llvm::SmallSetVector<Operation *, 4> reached;
  reached.insert(function);
  for (unsigned i = 0; i < reached.size(); ++i)
    for (Operation &op : cast<FuncOp>(reached[i]).getEntry())
      if (auto loop = Node::isNode(&op) ? FunctionalNode::of(Node(&op), functions) : std::nullopt;
          loop && loop->kind == FunctionalKind::While)
        for (FuncOp called : loop->functions) {
          if (called == function)
            return true;
          reached.insert(called);
        }
  return false;
}

std::string frameObstacle(const FunctionalNode &loop, Effects &effects,
                          const FunctionMap &functions) {
  if (loop.node.data().empty())
    return "it has no loop variables";
  for (FuncOp function : loop.functions) {
    if (std::string obstacle = analyzeCallee(function, effects).obstacle; !obstacle.empty())
      return obstacle;
    if (isRecursive(function, functions))
      return ("function '" + function.getName() + "' is recursive").str();
  }
  FuncOp condition = loop.functions[0];
  return conditionObstacle(condition.getReturn().getData()[0].getType());
}

} // namespace treadle::tfg
