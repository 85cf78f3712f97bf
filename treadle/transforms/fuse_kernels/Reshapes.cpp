// Moves a bias and an activation before a Reshape of a matrix product's rows, so that the product
// can absorb them.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/transforms/fuse_kernels/Fuser.h"

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
    Node last = bias, activation = Fuser::onlyUser(bias);
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

  /// Returns the only user of the node if it has this op and uses it as its first input.
  Node follower(Node node, StringRef op, unsigned numData) const {
    Node user = scope.isKept(node) ? Node() : Fuser::onlyUser(node);
    bool fits = user && user.opType() == op && user.numData() == numData && isFree(user) &&
                user->getOperand(0) == node->getResult(0);
    return fits ? user : Node();
  }

  /// Returns whether the last dimension of the result is the product's columns.
  bool keepsColumns(Node reshape) const {
    std::optional<int64_t> last = lastNumber(reshape->getOperand(1));
    auto dims = scope.declaredDims(product->getOperand(1));
    constexpr size_t rank = 2;
    return last && *last > 0 && dims && dims->size() == rank &&
           (*dims)[flag(product, "transpose_b") ? 0 : 1] == *last;
  }

  /// Returns the last element of a list of dimensions.
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
  auto isProduct = [&](Node node) {
    return node.opType() == "MatMul" && node.numData() == 2 && node.numResults() == 1 &&
           !scope.isFunction("MatMul");
  };
  for (Node node : nodesOf(scope.body, isProduct))
    ReshapeMover(scope, node).move();
}

} // namespace treadle::tfg
