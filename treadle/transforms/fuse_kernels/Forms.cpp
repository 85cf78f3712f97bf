// Activations and layer normalisations that graphs spell out, made one node each, wherever they
// stand. A convolution or a product before an activation takes it in later.
#include "treadle/transforms/fuse_kernels/FuseKernels.h"
#include "treadle/transforms/remap/Remapper.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// A node of this op in the place of `root`, without attributes but for the type.
NodeBuilder instead(OpBuilder &builder, Node root, StringRef op, ValueRange inputs,
                    ArrayRef<Value> tokens) {
  NodeBuilder node(builder, op);
  node.placedAs(root).inputs(inputs).control(tokens).results(root->getResult(0).getType());
  return node;
}

class FormFuser {
public:
  explicit FormFuser(const FusionScope &scope)
      : scope(scope), remapper(scope.body, scope.constants, scope.kept, scope.exchanges, true) {}

  void fuse() {
    for (Node node : nodesOf({"IdentityN"}))
      pass(node);
    // The last node of a form finds the longest one.
    SmallVector<Node> ends = nodesOf({"Add", "AddV2", "Mul", "RealDiv"});
    for (Node node : llvm::reverse(ends))
      if (node.numResults() == 1 && !remapper.isTaken(node) && !scope.isKept(node) &&
          !fuseNorm(node))
        fuseActivation(node);
    remapper.eraseTaken();
  }

private:
  SmallVector<Node> nodesOf(ArrayRef<StringRef> ops) const {
    SmallVector<Node> found;
    for (Operation &op : scope.body)
      if (Node::isNode(&op) && llvm::is_contained(ops, Node(&op).opType()))
        found.emplace_back(&op);
    return found;
  }

  /// Functions with gradients of their own end in an IdentityN that takes their inputs along.
  void pass(Node node) {
    if (scope.isKept(node) || node.numControl() || !node.controlResult().use_empty() ||
        node.numData() != node.numResults() || scope.isFunction(node.opType()) ||
        !llvm::equal(node.data().getTypes(), node.results().getTypes()) ||
        llvm::any_of(node.results(), [&](Value v) { return scope.constants.isFed(v); }))
      return;
    for (auto [result, value] : llvm::zip(node.results(), node.data()))
      result.replaceAllUsesWith(value);
    node->erase();
  }

  bool canFuse(Node root, const NodeSet &nodes) const {
    return remapper.canFuse(root, nodes) &&
           llvm::none_of(nodes, [&](Operation *op) { return scope.isFunction(Node(op).opType()); });
  }

  void fuseActivation(Node root) {
    NodeSet nodes;
    nodes.insert(root.getOperation());
    std::optional<ActivationForm> form = matchActivation(remapper, root, nodes);
    if (!form || !canFuse(root, nodes))
      return;
    OpBuilder builder(root.getOperation());
    Node fused = instead(builder, root, form->op, form->x, remapper.controlOf(nodes))
                     .attr("T", dtypeAttr(root->getResult(0).getType()))
                     .build();
    remapper.replace(root, fused, nodes);
  }

  bool fuseNorm(Node root) {
    NodeSet nodes;
    std::optional<LayerNorm> norm = matchLayerNorm(remapper, root, nodes);
    if (!norm || !canFuse(root, nodes))
      return false;
    SmallVector<Value> inputs = {norm->x};
    for (Value value : {norm->scale, norm->offset})
      if (value)
        inputs.push_back(value);
    OpBuilder builder(root.getOperation());
    Node fused = instead(builder, root, "_LayerNorm", inputs, remapper.controlOf(nodes))
                     .attr("num_scales", builder.getI64IntegerAttr(norm->scale ? 1 : 0))
                     .attr("num_offsets", builder.getI64IntegerAttr(norm->offset ? 1 : 0))
                     .attr("axis", builder.getI64IntegerAttr(norm->axis))
                     .attr("epsilon", builder.getF32FloatAttr(norm->epsilon))
                     .build();
    remapper.replace(root, fused, nodes);
    return true;
  }

  const FusionScope &scope;
  Remapper remapper;
};

} // namespace

bool mayBeForm(Node node) {
  static const llvm::StringSet<> signs = {"Sigmoid", "Relu6", "Erf", "Erfc", "Tanh"};
  if (node.opType() == "IdentityN" || node.opType() == "SquaredDifference")
    return true;
  auto isUsedBy = [&](ArrayRef<StringRef> ops) {
    return llvm::any_of(node->getUsers(), [&](Operation *user) {
      return Node::isNode(user) && llvm::is_contained(ops, Node(user).opType());
    });
  };
  return node.opType() == "MatMul"
             ? isUsedBy({"Reshape"})
             : signs.contains(node.opType()) && isUsedBy({"Mul", "RealDiv", "AddV2", "Add"});
}

void fuseForms(const FusionScope &scope) {
  FormFuser(scope).fuse();
  moveReshapes(scope);
  fuseScales(scope);
}

} // namespace treadle::tfg
