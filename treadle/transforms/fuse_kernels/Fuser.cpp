#include "treadle/transforms/fuse_kernels/Fuser.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/SoftEdges.h"

using namespace mlir;

namespace treadle::tfg {

bool isFloat32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }

RankedTensorType rankedTypeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool flag(Node node, StringRef key) {
  auto attr = node.attr<BoolAttr>(key);
  return attr && attr.getValue();
}

StringRef formatOf(Node node) {
  auto format = node.attr<StringAttr>("data_format");
  return format ? format.getValue() : "NHWC";
}

Tensor vectorOf(ArrayRef<int32_t> values) {
  Tensor tensor = *Tensor::make(DType::Int32, {std::ssize(values)});
  llvm::copy(values, tensor.data<int32_t>());
  return tensor;
}

Node Fuser::producer(Value value) const {
  auto result = dyn_cast<OpResult>(value);
  return result && result.getResultNumber() == 0 && !scope.constants.isFed(value)
             ? definingNode(value)
             : Node();
}

Value Fuser::source(Value value) const {
  for (Node node;
       (node = producer(value)) && node.opType() == "Identity" && node.numControl() == 0;)
    value = node->getOperand(0);
  return value;
}

Tensor Fuser::constant(Value value) const {
  value = source(value);
  return isFloat32(value) ? scope.constants.valueOf(value) : Tensor();
}

// A constant with more dimensions could increase the rank of a result.
std::optional<double> Fuser::scalar(Value value, int maxRank) const {
  Tensor tensor = constant(value);
  if (!tensor || tensor.count() != 1 || tensor.rank() > maxRank)
    return std::nullopt;
  return tensor.data<float>()[0];
}

bool Fuser::hasOp(StringRef op) const {
  if (ops.empty())
    for (Operation &node : scope.body)
      ops.insert(node.getName().stripDialect());
  return ops.contains(op) || ops.contains((op + "V2").str()) || ops.contains((op + "V3").str());
}

bool Fuser::isAlike(Node root, Node node) const {
  bool isInOnePlace = target == Kernels || (node.deviceAttr() == root.deviceAttr() &&
                                            node.assignedDeviceAttr() == root.assignedDeviceAttr());
  return isInOnePlace && !scope.isFunction(node.opType()) && scope.exchanges.areAlike(root, node);
}

bool Fuser::canFuseInto(Node root, Node node) const {
  return isAlike(root, node) && !scope.isKept(node) &&
         llvm::none_of(node.results(), [&](Value v) { return scope.constants.isFed(v); });
}

Node Fuser::onlyUser(Node node) {
  if (!node->hasOneUse() || node->getResult(0).use_empty())
    return {};
  Node user(*node->user_begin());
  return Node::isNode(user.getOperation()) ? user : Node();
}

Node Fuser::follower(Node root, Node node) const {
  Node user = canFuseInto(root, node) ? onlyUser(node) : Node();
  bool canEnd = user && (target == TensorFlow ? isAlike(root, user) : canFuseInto(root, user));
  return canEnd ? user : Node();
}

bool Fuser::canFuse(Node root, const NodeSet &nodes, Node visible) const {
  auto isInside = [&](Operation *op) {
    return op == visible.getOperation() ||
           llvm::all_of(op->getUsers(), [&](Operation *user) { return nodes.contains(user); });
  };
  return isAlike(root, root) && llvm::all_of(nodes, [&](Operation *op) {
           return op == root.getOperation() || (canFuseInto(root, Node(op)) && isInside(op));
         });
}

std::string Fuser::uniqueName(Node root, StringRef suffix) {
  if (!names)
    names.emplace(scope.body);
  return names->unique((root.name() + "/" + suffix).str());
}

Value Fuser::makeConstant(Node root, StringRef suffix, const Tensor &value, ValueRange madeOf,
                          Value beside) {
  OpBuilder builder(root.getOperation());
  llvm::SmallSetVector<Value, 4> tokens;
  for (Value from : madeOf)
    if (Node node = producer(source(from)))
      tokens.insert(node.control().begin(), node.control().end());
  if (!hasV1ControlFlow)
    hasV1ControlFlow =
        !nodesOf(scope.body, [](Node node) { return isV1ControlFlow(node); }).empty();
  if (madeOf.empty() && beside && *hasV1ControlFlow)
    tokens.insert(controlTokenOf(beside));
  Node built = buildConst(builder, uniqueName(root, suffix), value, root, tokens.getArrayRef());
  return built ? Value(built->getResult(0)) : Value();
}

SmallVector<Value> Fuser::controlOf(const NodeSet &nodes) const {
  llvm::SmallSetVector<Value, 8> tokens;
  for (Operation *op : nodes)
    for (Value token : Node(op).control())
      if (!nodes.contains(token.getDefiningOp()))
        tokens.insert(token);
  return tokens.takeVector();
}

void Fuser::replace(Node root, Node fused, const NodeSet &nodes, Node named, unsigned result) {
  if (!named)
    for (NamedAttribute attr : root.attrs())
      if (isAboutNode(attr.getName()) && !root.isKeyword(attr.getName()))
        fused->setDiscardableAttr(attr.getName(), attr.getValue());
  named = named ? named : root;
  fused.setName(named.name());
  root->getResult(0).replaceAllUsesWith(fused->getResult(result));
  replaceControl(root.controlResult(), fused.controlResult());
  for (Operation *op : nodes) {
    if (op != named.getOperation())
      SoftEdges::merge(Node(op), fused);
    taken.insert(op);
  }
  taken.remove(root.getOperation());
  scope.constants.forget(root);
  root->erase();
}

void Fuser::eraseTaken() {
  if (target == TensorFlow && !isa<FuncOp>(scope.body.getParentOp()))
    return;
  // The nodes use one another.
  for (Operation *op : taken)
    op->dropAllReferences();
  for (Operation *op : taken) {
    scope.constants.forget(Node(op));
    op->erase();
  }
}

} // namespace treadle::tfg
