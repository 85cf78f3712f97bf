// Fuses batch normalizations for inference that no convolution absorbs: one factor and one offset
// for each channel. Their epilogues are fused as after a convolution.
#include "treadle/transforms/fuse_kernels/Formula.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Returns the operand x of x * f + (offset - mean * f); null if the sum doesn't have this form.
OpOperand *scaledOf(const Fuser &fuser, Node sum) {
  static const Formula formula("(offset - mean * f) + product; product = x * f");
  OpOperand *found = nullptr;
  formula.match(fuser, sum, [&](const Formula::Match &match) {
    Value product = match["product"];
    if (!product.hasOneUse() || !llvm::all_of(match.nodes, [&](Operation *op) {
          return fuser.canFuseInto(Node(op), Node(op));
        }))
      return false;
    for (OpOperand &input : product.getDefiningOp()->getOpOperands())
      if (input.get() == match["x"])
        found = &input;
    return found != nullptr;
  });
  return found;
}

/// Inserts a node that returns its input, as the start of a fusion.
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

SmallVector<Node> insertScaleMarkers(const FusionScope &scope) {
  Fuser fuser(scope);
  SmallVector<OpOperand *> found;
  for (Node node : nodesOf(scope.body, [](Node node) { return node.numResults() > 0; })) {
    OpOperand *x = isNormalisation(node) && fuser.canFuseInto(node, node) ? &node->getOpOperand(0)
                                                                          : scaledOf(fuser, node);
    if (x && !isInEpilogue(Node(x->getOwner())))
      found.push_back(x);
  }
  return llvm::map_to_vector(found, [](OpOperand *x) { return begin(*x); });
}

} // namespace treadle::tfg
