#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/SoftEdges.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

bool hasRole(Node node, FusionRole role) { return fusionRole(node.opType()) == role; }

Type elementOf(Value value) { return tf_type::dereference(getElementTypeOrSelf(value.getType())); }

/// Of this many inputs and results, and all of them of one type, as its attribute says too. Nodes
/// that aren't are left to those who report it.
bool isOf(Type element, Node node, unsigned numData, unsigned numResults) {
  auto type = node.attr<mlir::TypeAttr>("T");
  return node.numData() == numData && node.numResults() == numResults &&
         (!type || type.getValue() == element) &&
         llvm::all_of(node.data(), [&](Value v) { return elementOf(v) == element; }) &&
         elementOf(node->getResult(0)) == element;
}

StringRef formatOf(Node node) {
  auto format = node.attr<StringAttr>("data_format");
  return format ? format.getValue() : "NHWC";
}

bool isNormalisation(Node node) {
  const OpDef *op = lookupOp(node.opType());
  auto isTraining = node.attr<BoolAttr>("is_training");
  return hasRole(node, FusionRole::Step) && node.opType().starts_with("FusedBatchNorm") &&
         isTraining && !isTraining.getValue() && formatOf(node) == "NHWC" &&
         isOf(Float32Type::get(node->getContext()), node, 5, op->outputs().size()) &&
         llvm::all_of(llvm::drop_begin(node->getResults()),
                      [&](Value v) { return isControl(v) || v.use_empty(); });
}

class Fuser {
public:
  Fuser(const FusionScope &scope, Node first)
      : scope(scope), first(first), fusedOp("_Fused" + first.opType().str()), last(first),
        element(elementOf(first->getResult(0))) {}

  void fuse() {
    takeMargin();
    while (Node next = follower(last)) {
      unsigned input = next->getOperand(0) == last->getResult(0) ? 0 : 1;
      if (hasRole(next, FusionRole::Activation) && isOf(element, next, 1, 1)) {
        auto alpha = next.attr<FloatAttr>("alpha");
        set("leakyrelu_alpha", alpha ? alpha : builder.getF32FloatAttr(0.2F));
        take(next, next.opType(), input);
        break;
      }
      StringRef step = stepOf(next, input);
      if (step.empty())
        break;
      if (step == "FusedBatchNorm") {
        auto epsilon = next.attr<FloatAttr>("epsilon");
        set("epsilon", epsilon ? epsilon : builder.getF32FloatAttr(0.0001F));
      }
      take(next, step, input);
    }
    if (!ops.empty())
      replace();
  }

private:
  /// The only one who sees `node`, or null.
  Node follower(Node node) {
    Operation *op = node.getOperation();
    if (scope.isKept(node) || !op->hasOneUse() || op->getResult(0).use_empty())
      return {};
    Node user(*op->user_begin());
    return Node::isNode(user.getOperation()) && !scope.isKept(user) &&
                   !scope.isFunction(user.opType())
               ? user
               : Node();
  }

  /// The zeros that a Pad adds around the image, as explicit_paddings has them; empty if it adds
  /// others, or may.
  std::vector<int64_t> marginOf(Node pad) {
    Node sizes = scope.producer(pad->getOperand(1), "Const");
    Tensor value =
        sizes && !scope.isKept(sizes) ? scope.constants.valueOf(pad->getOperand(1)) : Tensor();
    constexpr int64_t rank = 4; // of images; volumes can't say theirs
    if (!value || value.rank() != 2 || value.dim(0) != rank || value.dim(1) != 2)
      return {};
    auto numbers = scope.constants.integersOf(pad->getOperand(1));
    if (!numbers)
      return {};
    std::vector<int64_t> margin(numbers->begin(), numbers->end());
    bool isAround = llvm::all_of(margin, [](int64_t n) { return n >= 0; }) &&
                    margin[0] + margin[1] + margin[6] + margin[7] == 0;
    return isAround ? margin : std::vector<int64_t>();
  }

  /// A convolution adds zeros itself.
  void takeMargin() {
    auto padding = first.attr<StringAttr>("padding");
    Node pad = scope.producer(first->getOperand(0), "Pad");
    if (!padding || padding.getValue() != "VALID" || !pad || pad.numData() != 2 ||
        elementOf(pad->getOperand(0)) != element || follower(pad) != first)
      return;
    std::vector<int64_t> margin = marginOf(pad);
    if (margin.empty())
      return;
    first->setDiscardableAttr("padding", builder.getStringAttr("EXPLICIT"));
    first->setDiscardableAttr("explicit_paddings", builder.getI64ArrayAttr(margin));
    first->setOperand(0, pad->getOperand(0));
    for (Value token : pad.control())
      addControl(first, token);
    SoftEdges::merge(pad, first);
    pad->erase();
  }

  /// The step of an epilogue that `node` is, empty if it is none: its value goes in as `input`.
  StringRef stepOf(Node node, unsigned input) const {
    StringRef op = node.opType();
    if (op == "Mul" || op == "AddV2" || op == "Add")
      return !isOf(element, node, 2, 1) ? "" : op == "Mul" ? "Mul" : "Add";
    if (input != 0 || !ops.empty())
      return {};
    if (op == "BiasAdd" && formatOf(node) == "NHWC")
      return isOf(element, node, 2, 1) ? "BiasAdd" : "";
    return isNormalisation(node) && element.isF32() ? "FusedBatchNorm" : "";
  }

  /// The node's op, with all its inputs but that one.
  void take(Node node, StringRef op, unsigned input) {
    ops.push_back(builder.getStringAttr(op));
    for (auto [i, value] : llvm::enumerate(node.data()))
      if (i != input)
        arguments.push_back(value);
    tokens.append(node.control().begin(), node.control().end());
    taken.push_back(node);
    last = node;
  }

  void set(StringRef key, Attribute value) { attributes.emplace_back(key.str(), value); }

  // Errors are the contraction's, and so is the name.
  void replace() {
    const OpDef *def = lookupOp(fusedOp);
    auto numArguments = static_cast<int64_t>(arguments.size());
    if (def->findAttr("TArgs"))
      set("TArgs", builder.getArrayAttr(
                       SmallVector<Attribute>(arguments.size(), mlir::TypeAttr::get(element))));
    set("num_args", builder.getI64IntegerAttr(numArguments));
    set("fused_ops", builder.getArrayAttr(ops));
    SmallVector<Value> inputs(first.data());
    inputs.append(arguments);
    OpBuilder at(last.getOperation());
    NodeBuilder node(at, fusedOp);
    node.attrs(first.attrs());
    for (auto &[key, value] : attributes)
      node.attr(key, value);
    Node fused = node.placedAs(first)
                     .inputs(inputs)
                     .control(first.control())
                     .control(tokens)
                     .results(last->getResult(0).getType())
                     .build();
    last->getResult(0).replaceAllUsesWith(fused->getResult(0));
    last.controlResult().replaceAllUsesWith(fused.controlResult());
    for (Node node : llvm::reverse(taken)) {
      SoftEdges::merge(node, fused);
      node->erase();
    }
    first->erase();
  }

  const FusionScope &scope;
  Node first;
  std::string fusedOp;
  Node last;
  Type element;
  Builder builder{first->getContext()};
  SmallVector<Attribute> ops;
  SmallVector<Value> arguments, tokens;
  SmallVector<Node> taken;
  SmallVector<std::pair<std::string, Attribute>> attributes;
};

bool isContraction(Node node) {
  if (!hasRole(node, FusionRole::Contraction) || node.numData() != 2 || node.numResults() != 1 ||
      !formatOf(node).ends_with("C"))
    return false;
  Type element = elementOf(node->getResult(0));
  return (element.isF32() || element.isF64()) && isOf(element, node, 2, 1);
}

} // namespace

bool mayBeFused(Node node) {
  constexpr unsigned numGates = 4;
  if (node.opType() == "Split")
    return node.numResults() == numGates;
  if (!isContraction(node))
    return false;
  auto mayBeTaken = [](Operation *user) {
    return Node::isNode(user) && fusionRole(Node(user).opType()) > FusionRole::Contraction;
  };
  Node pad = definingNode(node->getOperand(0));
  return (pad && pad.opType() == "Pad") || llvm::any_of(node->getUsers(), mayBeTaken);
}

void fuseContractions(const FusionScope &scope) {
  SmallVector<Node> found;
  for (Operation &op : scope.body)
    if (Node::isNode(&op) && isContraction(Node(&op)) && !scope.isFunction(Node(&op).opType()))
      found.push_back(Node(&op));
  for (Node node : found)
    Fuser(scope, node).fuse();
}

} // namespace treadle::tfg
