// Batch normalisations for inference that no convolution takes in: one factor and one offset a
// channel. What follows them is fused as after a convolution.
#include "treadle/transforms/fuse_kernels/FuseKernels.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

bool isFloatNode(const FusionScope &scope, Node node, ArrayRef<StringRef> ops) {
  return node && llvm::is_contained(ops, node.opType()) && node.numData() == 2 &&
         node.numResults() == 1 && getElementTypeOrSelf(node->getResult(0)).isF32() &&
         !scope.isFunction(node.opType()) && !scope.isKept(node);
}

/// Of x * f + (offset - mean * f) the operand x; null where the sum isn't of this form.
OpOperand *scaledOf(const FusionScope &scope, Node sum) {
  if (!isFloatNode(scope, sum, {"Add", "AddV2"}))
    return nullptr;
  for (unsigned i : {0U, 1U}) {
    Node product = definingNode(sum->getOperand(i)), rest = definingNode(sum->getOperand(1 - i));
    if (!isFloatNode(scope, product, {"Mul"}) || !product->hasOneUse() ||
        !isFloatNode(scope, rest, {"Sub"}))
      continue;
    Node shift = definingNode(rest->getOperand(1));
    if (isFloatNode(scope, shift, {"Mul"}))
      for (unsigned factor : {0U, 1U})
        if (llvm::is_contained(shift->getOperands(), product->getOperand(factor)))
          return &product->getOpOperand(1 - factor);
  }
  return nullptr;
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
  SmallVector<OpOperand *> found;
  for (Operation &op : scope.body) {
    if (!Node::isNode(&op))
      continue;
    Node node(&op);
    if (OpOperand *x = scaledOf(scope, node)) {
      if (!followsContraction(Node(x->getOwner())))
        found.push_back(x);
    } else if (!followsContraction(node) && isNormalisation(node) &&
               getElementTypeOrSelf(node->getOperand(0)).isF32() && !scope.isKept(node) &&
               !scope.isFunction(node.opType())) {
      found.push_back(&node->getOpOperand(0));
    }
  }
  return llvm::map_to_vector(found, [](OpOperand *x) { return begin(*x); });
}

} // namespace treadle::tfg
