// A product whose rows are given more dimensions before a bias and an activation: what happens to
// columns can as well come first, next to the product, which takes it in.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/transforms/fuse_kernels/FuseKernels.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class ReshapeMover {
public:
  ReshapeMover(const FusionScope &scope, Node product) : scope(scope), product(product) {}

  void move() {
    Node reshape = follower(product, "Reshape", 2);
    Node bias = reshape ? follower(reshape, "BiasAdd", 2) : Node();
    if (!bias || !keepsColumns(reshape))
      return;
    Node last = bias, activation = onlyUser(bias);
    if (activation && activation.numData() == 1 && activation.numResults() == 1 &&
        fusionRole(activation.opType()) == FusionRole::Activation && isFree(activation))
      last = activation;
    bias->setOperand(0, product->getResult(0));
    last->getResult(0).replaceAllUsesWith(reshape->getResult(0));
    reshape->setOperand(0, last->getResult(0));
    reshape->moveAfter(last.getOperation());
    for (Node node : {bias, last, reshape}) {
      node->removeDiscardableAttr(outputShapesKey);
      if (node != reshape)
        node->getResult(0).setType(
            UnrankedTensorType::get(getElementTypeOrSelf(node->getResult(0).getType())));
    }
  }

private:
  bool isFree(Node node) const { return !scope.isKept(node) && !scope.isFunction(node.opType()); }

  static Node onlyUser(Node node) {
    if (!node->hasOneUse() || node->getResult(0).use_empty() || !node.controlResult().use_empty())
      return {};
    Node user(*node->user_begin());
    return Node::isNode(user.getOperation()) ? user : Node();
  }
  /// The only one who sees the node, if it is one of this op that takes it first.
  Node follower(Node node, StringRef op, unsigned numData) const {
    Node user = scope.isKept(node) ? Node() : onlyUser(node);
    bool fits = user && user.opType() == op && user.numData() == numData && isFree(user) &&
                user->getOperand(0) == node->getResult(0);
    return fits ? user : Node();
  }

  /// Whether the last of the new dimensions are the product's columns.
  bool keepsColumns(Node reshape) const {
    std::optional<int64_t> last = lastNumber(reshape->getOperand(1));
    auto turns = product.attr<BoolAttr>("transpose_b");
    auto dims = scope.declaredDims(product->getOperand(1));
    constexpr size_t rank = 2;
    return last && *last > 0 && dims && dims->size() == rank &&
           (*dims)[turns && turns.getValue() ? 0 : 1] == *last;
  }

  /// The last element of a list of dimensions.
  std::optional<int64_t> lastNumber(Value list) const {
    if (auto numbers = scope.constants.integersOf(list))
      return numbers->empty() ? std::nullopt : std::optional(numbers->back());
    Node node = definingNode(list);
    if (node && node.opType() == "ConcatV2" && node.numData() > 1)
      return lastNumber(node->getOperand(node.numData() - 2));
    if (node && node.opType() == "Pack" && node.numData() > 0)
      return lastNumber(node->getOperand(node.numData() - 1));
    return std::nullopt;
  }

  const FusionScope &scope;
  Node product;
};

} // namespace

void moveReshapes(const FusionScope &scope) {
  SmallVector<Node> products;
  for (Operation &op : scope.body)
    if (Node::isNode(&op) && Node(&op).opType() == "MatMul" && Node(&op).numData() == 2 &&
        Node(&op).numResults() == 1 && !scope.isFunction("MatMul"))
      products.emplace_back(&op);
  for (Node node : products)
    ReshapeMover(scope, node).move();
}

} // namespace treadle::tfg
