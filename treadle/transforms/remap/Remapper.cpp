#include "treadle/transforms/remap/Remapper.h"

#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle::tfg {

bool isFloat32(Value value) {
  auto type = dyn_cast<TensorType>(value.getType());
  return type && type.getElementType().isF32();
}

RankedTensorType rankedTypeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

int64_t lastDim(Value value) {
  RankedTensorType type = rankedTypeOf(value);
  return type && type.getRank() > 0 ? type.getShape().back() : ShapedType::kDynamic;
}

Remapper::Remapper(Block &body, Constants &constants, const llvm::StringSet<> &kept,
                   const ExchangeOrder &exchanges, bool withOneDnn)
    : constants(constants), withOneDnn(withOneDnn), body(body), kept(kept), exchanges(exchanges) {
  for (Operation &op : body)
    hasV1ControlFlow = hasV1ControlFlow || (Node::isNode(&op) && isV1ControlFlow(Node(&op)));
}

Node Remapper::producer(Value value) const {
  auto result = dyn_cast<OpResult>(value);
  return result && result.getResultNumber() == 0 && !constants.isFed(value) ? definingNode(value)
                                                                            : Node();
}

Value Remapper::source(Value value) const {
  for (Node node; (node = producer(value)) && node.opType() == "Identity" &&
                  node.numControl() == 0 && !constants.isFed(value);)
    value = node->getOperand(0);
  return value;
}

Tensor Remapper::constant(Value value) const {
  value = source(value);
  Node node = producer(value);
  if (!node || node.opType() != "Const" || !isFloat32(value))
    return {};
  return constants.valueOf(value);
}

std::optional<double> Remapper::scalar(Value value) const {
  Tensor tensor = constant(value);
  // One of more dimensions may give a result more than it had.
  if (!tensor || tensor.count() != 1 || tensor.rank() > 1)
    return std::nullopt;
  return tensor.data<float>()[0];
}

bool Remapper::canFuse(Node root, const NodeSet &nodes) const {
  return llvm::all_of(nodes, [&](Operation *op) {
    Node node(op);
    if (op == root.getOperation())
      return true;
    if (kept.contains(node.name()) || node.deviceAttr() != root.deviceAttr() ||
        node.assignedDeviceAttr() != root.assignedDeviceAttr() || !exchanges.areAlike(root, node))
      return false;
    return llvm::none_of(node.results(), [&](Value value) { return constants.isFed(value); }) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) { return nodes.contains(user); });
  });
}

std::string Remapper::uniqueName(Node root, StringRef suffix) {
  if (!names)
    names.emplace(body);
  return names->unique((root.name() + "/" + suffix).str());
}

Value Remapper::makeConstant(Node root, StringRef suffix, const Tensor &value, ValueRange madeOf,
                             Value beside) {
  OpBuilder builder(root.getOperation());
  llvm::SmallSetVector<Value, 4> tokens;
  for (Value from : madeOf)
    if (Node node = producer(source(from)))
      tokens.insert(node.control().begin(), node.control().end());
  if (madeOf.empty() && beside && hasV1ControlFlow)
    tokens.insert(controlTokenOf(beside));
  Node built = buildConst(builder, uniqueName(root, suffix), value, root, tokens.getArrayRef());
  return built ? Value(built->getResult(0)) : Value();
}

namespace {

/// Numbers for where the first dimensions of values come from.
class BatchNumbering {
public:
  explicit BatchNumbering(const Remapper &remapper) : remapper(remapper) {}

  llvm::DenseMap<Value, unsigned> number(Block &body) {
    for (Operation *op : topologicalOrder(body))
      if (Node::isNode(op) && Node(op).numResults() > 0 &&
          !remapper.constants.isFed(op->getResult(0)))
        numbers[op->getResult(0)] = numberOf(Node(op));
    return std::move(numbers);
  }

private:
  unsigned of(Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, next);
    next += isNew;
    return entry->second;
  }

  unsigned numberOf(Node node) {
    static const llvm::StringSet<> ofFirst = {"Conv2D",
                                              "DepthwiseConv2dNative",
                                              "BiasAdd",
                                              "Relu",
                                              "Relu6",
                                              "Elu",
                                              "Tanh",
                                              "LeakyRelu",
                                              "MaxPool",
                                              "_MaxPool",
                                              "AvgPool",
                                              "Sigmoid",
                                              "FusedBatchNorm",
                                              "FusedBatchNormV2",
                                              "FusedBatchNormV3",
                                              "Identity"};
    static const llvm::StringSet<> ofBoth = {"Add", "AddV2", "Sub", "Mul"};
    if (ofFirst.contains(node.opType()))
      return of(node->getOperand(0));
    auto transposes = node.attr<BoolAttr>("transpose_a");
    if (node.opType() == "MatMul" && transposes && !transposes.getValue())
      return of(node->getOperand(0));
    if (node.opType() == "Pad" && padsNoBatch(node))
      return of(node->getOperand(0));
    return ofBoth.contains(node.opType()) ? numberOfBoth(node) : next++;
  }

  bool padsNoBatch(Node node) {
    auto sizes = remapper.constants.integersOf(remapper.source(node->getOperand(1)));
    return sizes && sizes->size() > 1 && (*sizes)[0] == 0 && (*sizes)[1] == 0;
  }

  /// One operand may be the same for the whole batch.
  unsigned numberOfBoth(Node node) {
    Value a = node->getOperand(0), b = node->getOperand(1);
    auto isForAll = [&](Value value) {
      RankedTensorType type = rankedTypeOf(value), result = rankedTypeOf(node->getResult(0));
      return type && result &&
             (type.getRank() < result.getRank() || (type.getRank() > 0 && type.getDimSize(0) == 1));
    };
    if (isForAll(a) || isForAll(b))
      return of(isForAll(a) ? b : a);
    unsigned number = of(a);
    return number == of(b) ? number : next++;
  }

  const Remapper &remapper;
  llvm::DenseMap<Value, unsigned> numbers;
  unsigned next = 0;
};

} // namespace

bool Remapper::haveOneBatch(Value a, Value b) {
  if (!batches)
    batches = BatchNumbering(*this).number(body);
  auto x = batches->find(a), y = batches->find(b);
  return a == b || (x != batches->end() && y != batches->end() && x->second == y->second);
}

SmallVector<Value> Remapper::controlOf(const NodeSet &nodes) const {
  llvm::SmallSetVector<Value, 8> tokens;
  for (Operation *op : nodes)
    for (Value token : Node(op).control())
      if (!nodes.contains(token.getDefiningOp()))
        tokens.insert(token);
  return tokens.takeVector();
}

void Remapper::replace(Node root, Node fused, const NodeSet &nodes) {
  for (NamedAttribute attr : root.attrs())
    if (attr.getName().strref().starts_with("_") && !root.isKeyword(attr.getName()))
      fused->setDiscardableAttr(attr.getName(), attr.getValue());
  root->getResult(0).replaceAllUsesWith(fused->getResult(0));
  root.controlResult().replaceAllUsesWith(fused.controlResult());
  fused.setName(root.name());
  constants.forget(root);
  if (batches)
    batches->erase(root->getResult(0));
  for (Operation *op : nodes)
    if (op != root.getOperation()) {
      SoftEdges::merge(Node(op), fused);
      taken.insert(op);
    }
  root->erase();
}

void Remapper::eraseTaken() {
  // They use one another.
  for (Operation *op : taken)
    op->dropAllReferences();
  for (Operation *op : taken) {
    constants.forget(Node(op));
    op->erase();
  }
  taken.clear();
}

} // namespace treadle::tfg
