// Products of queries and keys, their softmax, and its product with values, made one node.
#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "treadle/rewriting/SoftEdges.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

bool isProduct(Node node) {
  return node &&
         (node.opType() == "BatchMatMul" || node.opType() == "BatchMatMulV2" ||
          node.opType() == "BatchMatMulV3") &&
         node.numData() == 2 && node.numResults() == 1;
}

bool flag(Node node, StringRef key) {
  auto attr = node.attr<BoolAttr>(key);
  return attr && attr.getValue();
}

class AttentionFuser {
public:
  AttentionFuser(const FusionScope &scope, Node softmax)
      : scope(scope), softmax(softmax), builder(softmax.getOperation()) {}

  void fuse() {
    Node last = onlyUser(softmax);
    if (!isPlainProduct(last) || last->getOperand(0) != softmax->getResult(0) ||
        last->getOperand(1) == softmax->getResult(0) || scope.isKept(softmax) ||
        !scope.exchanges.areAlike(softmax, last))
      return;
    value = last->getOperand(1);
    if (takeScores(softmax->getOperand(0)))
      replace(last);
  }

  /// The only one who sees the node, or null.
  static Node onlyUser(Node node) {
    if (!node->hasOneUse() || node->getResult(0).use_empty())
      return {};
    Operation *user = *node->user_begin();
    return Node::isNode(user) ? Node(user) : Node();
  }

private:
  static bool isFloat32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }

  /// A product of floats that turns no operand.
  bool isPlainProduct(Node node) const {
    return isProduct(node) && !scope.isFunction(node.opType()) && isFloat32(node->getResult(0)) &&
           isFloat32(node->getOperand(0)) && isFloat32(node->getOperand(1)) &&
           !flag(node, "adj_x") && !flag(node, "adj_y");
  }

  /// The node behind `v`, which nobody else sees; it becomes part of the whole.
  Node take(Value v) {
    auto result = dyn_cast<OpResult>(v);
    if (!result || !Node::isNode(result.getOwner()))
      return {};
    Node node(result.getOwner());
    if (node.numResults() != 1 || !onlyUser(node) || scope.isKept(node) ||
        scope.isFunction(node.opType()) || !scope.exchanges.areAlike(softmax, node))
      return {};
    taken.push_back(node);
    return node;
  }

  std::optional<float> number(Value v) const {
    Tensor constant = scope.constants.valueOf(v);
    if (!constant || constant.dtype() != DType::Float32 || constant.count() != 1 ||
        constant.rank() > 2)
      return std::nullopt;
    return constant.data<float>()[0];
  }

  /// (query key' * scale) + mask, of which all but the product may be missing.
  bool takeScores(Value scores) {
    Node node = take(scores);
    if (node && (node.opType() == "AddV2" || node.opType() == "Add") && node.numData() == 2)
      node = takeSummand(node);
    if (node && (node.opType() == "Mul" || node.opType() == "RealDiv") && node.numData() == 2)
      node = takeScale(node);
    return node && takeProduct(node);
  }

  /// The mask is the operand that no product leads to.
  Node takeSummand(Node sum) {
    for (unsigned i : {0U, 1U}) {
      Node next = definingNode(sum->getOperand(i));
      bool leads =
          isProduct(next) || (next && (next.opType() == "Mul" || next.opType() == "RealDiv") &&
                              (isProduct(definingNode(next->getOperand(0))) ||
                               isProduct(definingNode(next->getOperand(1)))));
      if (!leads || !isFloat32(sum->getOperand(1 - i)))
        continue;
      mask = sum->getOperand(1 - i);
      return take(sum->getOperand(i));
    }
    return {};
  }

  Node takeScale(Node node) {
    bool divides = node.opType() == "RealDiv";
    for (unsigned i : {1U, 0U}) {
      std::optional<float> by = number(node->getOperand(i));
      if (!by || (divides && i == 0))
        continue;
      scale = divides ? 1 / *by : *by;
      return take(node->getOperand(1 - i));
    }
    return {};
  }

  bool takeProduct(Node product) {
    if (!isProduct(product) || flag(product, "adj_x") || !isFloat32(product->getOperand(0)) ||
        !isFloat32(product->getOperand(1)))
      return false;
    query = product->getOperand(0);
    key = flag(product, "adj_y") ? product->getOperand(1) : turnedKey(product);
    return static_cast<bool>(key);
  }

  /// Keys that a Transpose has given in columns, in rows.
  Value turnedKey(Node product) {
    Node turn = scope.producer(product->getOperand(1), "Transpose");
    auto order = turn ? scope.constants.integersOf(turn->getOperand(1)) : std::nullopt;
    if (!order || order->size() < 2 || turn.numControl() || scope.isKept(turn))
      return {};
    std::swap(order->end()[-1], order->end()[-2]);
    if (llvm::equal(*order, llvm::seq<int64_t>(0, std::ssize(*order))))
      return turn->getOperand(0);
    Tensor list = *Tensor::make(DType::Int32, {std::ssize(*order)});
    llvm::transform(*order, list.data<int32_t>(),
                    [](int64_t d) { return static_cast<int32_t>(d); });
    std::string name = product.name().str() + "/keys_in_rows";
    builder.setInsertionPoint(turn.getOperation());
    Node constant = buildConst(builder, name + "/order", list, turn, {});
    return NodeBuilder(builder, "Transpose")
        .name(name)
        .placedAs(turn)
        .attr("T", dtypeAttr(turn->getOperand(0).getType()))
        .attr("Tperm", mlir::TypeAttr::get(builder.getI32Type()))
        .inputs({turn->getOperand(0), constant->getResult(0)})
        .results(rowsOf(turn))
        .build()
        ->getResult(0);
  }

  /// The type of the turned keys with their last two dimensions swapped.
  static Type rowsOf(Node turn) {
    auto type = dyn_cast<RankedTensorType>(turn->getResult(0).getType());
    if (!type)
      return turn->getResult(0).getType();
    SmallVector<int64_t> dims(type.getShape());
    std::swap(dims.end()[-1], dims.end()[-2]);
    return RankedTensorType::get(dims, type.getElementType());
  }

  // Errors are the last product's, and so is the name.
  void replace(Node last) {
    SmallVector<Value> inputs = {query, key, value}, tokens(last.control());
    if (mask)
      inputs.push_back(mask);
    taken.insert(taken.begin(), softmax);
    for (Node node : taken)
      tokens.append(node.control().begin(), node.control().end());
    auto float32 = Float32Type::get(softmax->getContext());
    builder.setInsertionPoint(last.getOperation());
    Node fused = NodeBuilder(builder, "_Attention")
                     .name(last.name())
                     .placedAs(last)
                     .attr("num_masks", builder.getI64IntegerAttr(mask ? 1 : 0))
                     .attr("scale", builder.getF32FloatAttr(scale))
                     .attr("causal", builder.getBoolAttr(false))
                     .inputs(inputs)
                     .control(tokens)
                     .results({last->getResult(0).getType(), UnrankedTensorType::get(float32)})
                     .build();
    last->getResult(0).replaceAllUsesWith(fused->getResult(0));
    last.controlResult().replaceAllUsesWith(fused.controlResult());
    SoftEdges::merge(last, fused);
    last->erase();
    for (Node node : taken) {
      SoftEdges::merge(node, fused);
      node->erase();
    }
  }

  const FusionScope &scope;
  Node softmax;
  OpBuilder builder;
  Value query, key, value, mask;
  float scale = 1;
  SmallVector<Node> taken; // users before what they use
};

// --- Einsum --------------------------------------------------------------------------------------

/// Writes the products of attention whose heads are the third dimension as products of matrices.
class EinsumSpeller {
public:
  EinsumSpeller(const FusionScope &scope, Node softmax) : scope(scope), softmax(softmax) {}

  void spell() {
    Node last = AttentionFuser::onlyUser(softmax), first = scoresOf(softmax->getOperand(0));
    if (first && last && last->getOperand(0) == softmax->getResult(0) &&
        isProduct(first, "btnh,bsnh->bnts") && isProduct(last, "bnts,bsnh->btnh")) {
      replace(first, product(first, headsFirst(first, 0), headsFirst(first, 1), true));
      Node sums = product(last, last->getOperand(0), headsFirst(last, 1), false);
      sums.setName((last.name() + "/heads_first").str());
      Node turned = headsFirst(last, sums->getResult(0), last.name());
      turned->getResult(0).setType(last->getResult(0).getType());
      replace(last, turned);
    }
  }

private:
  /// Past a factor and a mask.
  Node scoresOf(Value scores) const {
    static const llvm::StringSet<> between = {"Mul", "RealDiv", "Add", "AddV2"};
    Node node = definingNode(scores);
    for (int steps = 0; steps < 2 && node && between.contains(node.opType()); ++steps)
      for (unsigned i : {0U, 1U})
        if (Node next = definingNode(node->getOperand(i));
            next &&
            (next.opType() == "Einsum" || (steps == 0 && between.contains(next.opType())))) {
          node = next;
          break;
        }
    return node;
  }

  /// An Einsum of this form, whatever its letters are, that nobody else looks at.
  bool isProduct(Node node, StringRef form) const {
    auto equation = node.attr<StringAttr>("equation");
    if (node.opType() != "Einsum" || !equation || node.numData() != 2 || node.numControl() ||
        scope.isFunction("Einsum") || scope.isKept(node) ||
        !getElementTypeOrSelf(node->getResult(0)).isF32())
      return false;
    StringRef text = equation.getValue();
    llvm::SmallDenseMap<char, char> letters, back;
    return text.size() == form.size() && llvm::all_of(llvm::zip(text, form), [&](auto pair) {
             auto [mine, its] = pair;
             return letters.try_emplace(mine, its).first->second == its &&
                    back.try_emplace(its, mine).first->second == mine;
           });
  }

  Value headsFirst(Node node, unsigned operand) {
    std::string name = (node.name() + "/operand_" + Twine(operand)).str();
    return headsFirst(node, node->getOperand(operand), name)->getResult(0);
  }
  Node headsFirst(Node node, Value value, StringRef name) {
    constexpr int32_t order[] = {0, 2, 1, 3};
    Tensor list = *Tensor::make(DType::Int32, {std::size(order)});
    llvm::copy(order, list.data<int32_t>());
    OpBuilder builder(node.getOperation());
    Node constant = buildConst(builder, (name + "/order").str(), list, node, {});
    return NodeBuilder(builder, "Transpose")
        .name(name)
        .placedAs(node)
        .attr("T", dtypeAttr(value.getType()))
        .attr("Tperm", mlir::TypeAttr::get(builder.getI32Type()))
        .inputs({value, constant->getResult(0)})
        .results(UnrankedTensorType::get(builder.getF32Type()))
        .build();
  }
  Node product(Node node, Value a, Value b, bool turns) {
    OpBuilder builder(node.getOperation());
    return NodeBuilder(builder, "BatchMatMulV2")
        .name(node.name())
        .placedAs(node)
        .attr("T", dtypeAttr(a.getType()))
        .attr("adj_y", builder.getBoolAttr(turns))
        .inputs({a, b})
        .results(UnrankedTensorType::get(builder.getF32Type()))
        .build();
  }
  void replace(Node node, Node by) {
    node->getResult(0).replaceAllUsesWith(by->getResult(0));
    node.controlResult().replaceAllUsesWith(by.controlResult());
    SoftEdges::merge(node, by);
    node->erase();
  }

  const FusionScope &scope;
  Node softmax;
};

} // namespace

void fuseAttention(const FusionScope &scope) {
  SmallVector<Node> found;
  for (Operation &op : scope.body)
    if (Node::isNode(&op) && Node(&op).opType() == "Softmax" && Node(&op).numResults() == 1 &&
        !scope.isFunction("Softmax") && getElementTypeOrSelf(op.getResult(0).getType()).isF32())
      found.push_back(Node(&op));
  for (Node node : found) {
    EinsumSpeller(scope, node).spell();
    AttentionFuser(scope, node).fuse();
  }
}

} // namespace treadle::tfg
