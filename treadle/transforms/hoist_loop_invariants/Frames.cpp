// Frames: hoists nodes that depend only on constant Enters before these.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/transforms/hoist_loop_invariants/HoistLoopInvariants.h"

#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Node constantEnter(Value value) {
  Node node = definingNode(value);
  return node && entersFrame(node.getOperation()) && isConstantEnter(node) ? node : Node();
}

/// Returns the first Enter if all inputs come from constant Enters of one frame. The node runs in
/// every iteration, including the first, so it may fail outside as it would have inside.
Node commonEnter(Node node) {
  Node first;
  for (Value input : node.data()) {
    Node enter = constantEnter(input);
    if (!enter || (first && frameName(enter) != frameName(first)))
      return {};
    if (!first)
      first = enter;
  }
  return first;
}

bool isHoistable(Node node, Effects &effects) {
  return node.numResults() == 1 && node.numControl() == 0 && node.numData() > 0 &&
         node.opType() != "Identity" && effects.isPure(node) &&
         isa<TensorType>(node->getResult(0).getType()) && commonEnter(node);
}

// The new Enter takes the place and the name of the node.
Node hoist(Node node, NameScope &names) {
  Node enter = commonEnter(node);
  OpBuilder builder(node.getOperation());
  Node outside(builder.clone(*node.getOperation()));
  outside.setName(names.unique((node.name() + "/invariant").str()));
  SmallVector<Value> tokens;
  for (unsigned i = 0; i < node.numData(); ++i) {
    Node from = constantEnter(node->getOperand(i));
    outside->setOperand(i, from->getOperand(0));
    llvm::append_range(tokens, from.control());
  }
  Value result = outside->getResult(0);
  Node entered =
      NodeBuilder(builder, enter.opType())
          .placedAs(node)
          .attrs(enter.attrs())
          .name(node.name())
          .attr("T", mlir::TypeAttr::get(cast<TensorType>(result.getType()).getElementType()))
          .inputs(result)
          .control(tokens)
          .results(node->getResult(0).getType())
          .build();
  entered->removeDiscardableAttr(outputShapesKey);
  node->replaceAllUsesWith(entered.getOperation());
  node->erase();
  return outside;
}

} // namespace

void hoistFromFrames(Block &body, Effects &effects) {
  std::optional<NameScope> names;
  for (Operation *op : topologicalOrder(body)) {
    if (!Node::isNode(op))
      continue;
    // Hoists the node out of nested loops, one after the other.
    for (Node node(op); isHoistable(node, effects);) {
      if (!names)
        names.emplace(body);
      node = hoist(node, *names);
    }
  }
}

} // namespace treadle::tfg
