// Batch normalisations for inference that no convolution takes in: one factor and one offset a
// channel. What follows them is fused as after a convolution.
#include "treadle/transforms/fuse_kernels/Formula.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Of x * f + (offset - mean * f) the operand x; null where the sum isn't of this form.
OpOperand *scaledOf(const Fuser &fuser, Node sum) {
  static const Formula formula("(offset - mean * f) + product; product = x * f");
  OpOperand *found = nullptr;
  formula.match(fuser, sum, [&](const Formula::Match &match) {
    Value product = match["product"];
    if (!product.hasOneUse() || !llvm::all_of(match.nodes, [&](Operation *op) {
          return fuser.canJoin(Node(op), Node(op));
        }))
      return false;
    for (OpOperand &input : product.getDefiningOp()->getOpOperands())
      if (input.get() == match["x"])
        found = &input;
    return found != nullptr;
  });
  return found;
}

/// A node that gives its input, from which fusing begins.
Node begin(OpOperand &x) {
  Node user(x.getOwner());
  OpBuilder builder(user.getOperation());
  Node scale = NodeBuilder(builder, "Scale")
                   .name(user.name())
                   .placedAs(user)
                   .attr("T", dtypeAttr(x.get().getType()))
                   .inputs(x.get())
                   .results(x.get().getType())
                   .build();
  x.set(scale->getResult(0));
  return scale;
}

} // namespace

SmallVector<Node> beginScales(const FusionScope &scope) {
  Fuser fuser(scope);
  SmallVector<OpOperand *> found;
  for (Node node : nodesOf(scope.body, [](Node node) { return node.numResults() > 0; })) {
    OpOperand *x = isNormalisation(node) && fuser.canJoin(node, node) ? &node->getOpOperand(0)
                                                                      : scaledOf(fuser, node);
    if (x && !followsContraction(Node(x->getOwner())))
      found.push_back(x);
  }
  return llvm::map_to_vector(found, [](OpOperand *x) { return begin(*x); });
}

} // namespace treadle::tfg
