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

} // namespace

bool isNormalisation(Node node) {
  const OpDef *op = lookupOp(node.opType());
  auto isTraining = node.attr<BoolAttr>("is_training");
  return hasRole(node, FusionRole::Step) && node.opType().starts_with("FusedBatchNorm") &&
         isTraining && !isTraining.getValue() && formatOf(node) == "NHWC" &&
         isOf(Float32Type::get(node->getContext()), node, 5, op->outputs().size()) &&
         llvm::all_of(llvm::drop_begin(node->getResults()),
                      [&](Value v) { return isControl(v) || v.use_empty(); });
}

namespace {

class Fuser {
public:
  Fuser(const FusionScope &scope, Node first)
      : scope(scope), first(first), fusedOp("_Fused" + first.opType().str()), last(first),
        element(elementOf(first->getResult(0))) {}

  /// Whether there was something to take in.
  bool fuse() {
    takeMargin();
    while (Node next = follower(last)) {
      unsigned input = next->getOperand(0) == last->getResult(0) ? 0 : 1;
      if (hasRole(next, FusionRole::Activation) && isOf(element, next, 1, 1)) {
        auto alpha = next.attr<FloatAttr>("alpha");
        set("leakyrelu_alpha", alpha ? alpha : builder.getF32FloatAttr(0.2F));
        // Our own ops are called so, TensorFlow's aren't.
        take(next, next.opType().ltrim('_'), input);
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
    if (ops.empty())
      return false;
    replace();
    return true;
  }

private:
  /// The only one who sees `node`, or null.
  Node follower(Node node) {
    Operation *op = node.getOperation();
    if (scope.isKept(node) || !op->hasOneUse() || op->getResult(0).use_empty())
      return {};
    Node user(*op->user_begin());
    return Node::isNode(user.getOperation()) && !scope.isKept(user) &&
                   !scope.isFunction(user.opType()) && scope.exchanges.areAlike(first, user)
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

bool isOrder(const FusionScope &scope, Value value, ArrayRef<int64_t> order) {
  auto found = scope.constants.integersOf(value);
  return found && llvm::equal(*found, order);
}

/// The Transpose of a convolution's filter from [out, in, rows, columns], which its kernel reads as
/// well; null where there is none, or somebody else sees it.
Node turnedFilter(const FusionScope &scope, Node node) {
  bool isConvolution = node.opType() == "Conv2D" || node.opType() == "Conv2DBackpropInput";
  if (!isConvolution || node.numResults() != 1 || node.attr<StringAttr>("filter_format") ||
      node.numData() != (node.opType() == "Conv2D" ? 2U : 3U) ||
      !elementOf(node->getResult(0)).isF32())
    return {};
  Node turn = scope.producer(node->getOperand(1), "Transpose");
  if (!turn || turn.numData() != 2 || scope.isKept(turn) || !turn->hasOneUse() ||
      !elementOf(turn->getOperand(0)).isF32())
    return {};
  constexpr int64_t windowFirst[] = {2, 3, 1, 0};
  return isOrder(scope, turn->getOperand(1), windowFirst) ? turn : Node();
}

constexpr int64_t outermostFirst[] = {3, 2, 0, 1};

/// The Transpose of a filter's gradient to [out, in, rows, columns]; null where there is none, or
/// somebody else sees the gradient.
Node turnedGradient(const FusionScope &scope, Node node) {
  if (node.opType() != "Conv2DBackpropFilter" || node.numData() != 3 || node.numResults() != 1 ||
      !elementOf(node->getResult(0)).isF32() || !node->hasOneUse() || scope.isKept(node) ||
      node->getResult(0).use_empty())
    return {};
  Node turn(*node->user_begin());
  if (!Node::isNode(turn.getOperation()) || turn.opType() != "Transpose" || turn.numData() != 2 ||
      scope.isFunction("Transpose") || scope.isKept(turn) ||
      turn->getOperand(0) != node->getResult(0))
    return {};
  auto sizes = scope.constants.integersOf(node->getOperand(1));
  bool areKnown = sizes && sizes->size() == std::size(outermostFirst) &&
                  llvm::all_of(*sizes, [](int64_t size) { return llvm::isInt<32>(size); });
  return areKnown && isOrder(scope, turn->getOperand(1), outermostFirst) ? turn : Node();
}

/// `node` says in which order the filter lies, and stands for the Transpose, whose result nobody
/// uses any more.
void absorbTurn(Node turn, Node node) {
  node->setDiscardableAttr("filter_format", StringAttr::get(node->getContext(), "OIHW"));
  for (Value token : turn.control())
    addControl(node, token);
  SoftEdges::merge(turn, node);
  turn->erase();
}

/// Its sizes are in the filter's order, too.
void giveTurned(const FusionScope &scope, Node node, Node turn) {
  auto sizes = *scope.constants.integersOf(node->getOperand(1));
  Tensor turned = *Tensor::make(DType::Int32, {std::size(outermostFirst)});
  llvm::transform(outermostFirst, turned.data<int32_t>(), [&](int64_t from) {
    return static_cast<int32_t>(sizes[static_cast<size_t>(from)]);
  });
  OpBuilder at(node.getOperation());
  Node constant = buildConst(at, (node.name() + "/outermost_first").str(), turned, node, {});
  node->setOperand(1, constant->getResult(0));
  node->getResult(0).setType(turn->getResult(0).getType());
  turn->getResult(0).replaceAllUsesWith(node->getResult(0));
  turn.controlResult().replaceAllUsesWith(node.controlResult());
  absorbTurn(turn, node);
}

void takeTurn(Node turn, Node node) {
  node->setOperand(1, turn->getOperand(0));
  absorbTurn(turn, node);
}

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
  if (mayBeForm(node))
    return true;
  if (node.opType() == "Split")
    return node.numResults() == numGates;
  if (node.opType() == "Softmax" && node.numResults() == 1)
    return llvm::any_of(node->getResult(0).getUsers(), [](Operation *user) {
      return Node::isNode(user) &&
             (Node(user).opType().starts_with("BatchMatMul") || Node(user).opType() == "Einsum");
    });
  Node filter = node.opType().starts_with("Conv2D") && node.numData() > 1
                    ? definingNode(node->getOperand(1))
                    : Node();
  if ((filter && filter.opType() == "Transpose") || node.opType() == "Conv2DBackpropFilter")
    return true;
  if (node.opType() == "Rsqrt" || isNormalisation(node))
    return true;
  if (!isContraction(node))
    return false;
  auto mayBeTaken = [](Operation *user) {
    return Node::isNode(user) && fusionRole(Node(user).opType()) > FusionRole::Contraction;
  };
  Node pad = definingNode(node->getOperand(0));
  return (pad && pad.opType() == "Pad") || llvm::any_of(node->getUsers(), mayBeTaken);
}

void fuseContractions(const FusionScope &scope) {
  SmallVector<Node> found, turned;
  for (Operation &op : scope.body)
    if (Node::isNode(&op) && turnedFilter(scope, Node(&op)))
      turned.push_back(Node(&op));
  for (Node node : turned)
    takeTurn(turnedFilter(scope, node), node);
  turned.clear();
  for (Operation &op : scope.body)
    if (Node::isNode(&op) && turnedGradient(scope, Node(&op)))
      turned.push_back(Node(&op));
  for (Node node : turned)
    giveTurned(scope, node, turnedGradient(scope, node));
  for (Operation &op : scope.body)
    if (Node::isNode(&op) && isContraction(Node(&op)) && !scope.isFunction(Node(&op).opType()))
      found.push_back(Node(&op));
  for (Node node : found)
    Fuser(scope, node).fuse();
}

void fuseScales(const FusionScope &scope) {
  for (Node node : beginScales(scope))
    if (!Fuser(scope, node).fuse()) {
      node->getResult(0).replaceAllUsesWith(node->getOperand(0));
      node->erase();
    }
}

} // namespace treadle::tfg
