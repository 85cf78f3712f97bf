// Fuses products of queries and keys, their softmax, and its product with values into one node.
#include "treadle/transforms/fuse_kernels/Formula.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Returns whether the Einsum has the equation `form`, up to the letters.
bool hasEquation(Node node, StringRef form) {
  auto equation = node.attr<StringAttr>("equation");
  if (!equation || node.numControl() || equation.getValue().size() != form.size())
    return false;
  llvm::SmallDenseMap<char, char> letters, back;
  return llvm::all_of(llvm::zip(equation.getValue(), form), [&](auto pair) {
    auto [mine, its] = pair;
    return letters.try_emplace(mine, its).first->second == its &&
           back.try_emplace(its, mine).first->second == mine;
  });
}

class AttentionFuser {
public:
  AttentionFuser(Fuser &fuser, Node last)
      : fuser(fuser), last(last), builder(last.getOperation()) {}

  void fuseMatrices() {
    static const Formula formula(
        "BatchMatMul(weights, value){!adj_x, !adj_y}"
        "; weights = Softmax(scaled) | Softmax(scaled + mask)"
        "; scaled = scores * $scale"
        "; scores = BatchMatMul(query, key){!adj_x, adj_y} | BatchMatMul(query, columns){!adj_x}");
    find(formula, [&](const Formula::Match &match) {
      Value columns = match["columns"], key = columns ? rowsOf(columns) : match["key"];
      if (key)
        fuser.replace(
            last, build(match, {match["query"], key, match["value"]}, last->getResult(0).getType()),
            match.nodes);
      return static_cast<bool>(key);
    });
  }

  /// Fuses products whose heads are the third dimension, as in Keras.
  void fuseHeads() {
    static const Formula formula("Einsum(weights, value)"
                                 "; weights = Softmax(scaled) | Softmax(scaled + mask)"
                                 "; scaled = scores * $scale; scores = Einsum(query, key)");
    find(formula, [&](const Formula::Match &match) {
      if (!hasEquation(definingNode(match["scores"]), "btnh,bsnh->bnts") ||
          !hasEquation(last, "bnts,bsnh->btnh"))
        return false;
      SmallVector<Value> inputs;
      for (StringRef name : {"query", "key", "value"})
        inputs.push_back(headsSwapped(match[name], name, unranked())->getResult(0));
      Node fused = build(match, inputs, unranked());
      fused.setName(fuser.uniqueName(last, "heads_first"));
      Node swapped = headsSwapped(fused->getResult(0), "result", last->getResult(0).getType());
      fuser.replace(last, swapped, match.nodes);
      return true;
    });
  }

private:
  /// Scores have at least two dimensions, so a factor with fewer is a scalar.
  void find(const Formula &formula, Formula::Accept accept) {
    auto canFuse = [&](const Formula::Match &match) {
      return fuser.canFuse(last, match.nodes) && accept(match);
    };
    formula.match(fuser, last, canFuse, 2);
  }

  Type unranked() { return UnrankedTensorType::get(builder.getF32Type()); }

  Node transpose(Value value, ArrayRef<int32_t> order, StringRef suffix, Type type) {
    Value list = fuser.makeConstant(last, (suffix + "/order").str(), vectorOf(order), {}, value);
    return NodeBuilder(builder, "Transpose")
        .name(fuser.uniqueName(last, suffix))
        .placedAs(last)
        .attr("T", dtypeAttr(value.getType()))
        .attr("Tperm", mlir::TypeAttr::get(builder.getI32Type()))
        .inputs({value, list})
        .results(type)
        .build();
  }
  Node headsSwapped(Value value, StringRef suffix, Type type) {
    return transpose(value, {0, 2, 1, 3}, suffix, type);
  }

  /// Returns the keys in rows if a Transpose turned them into columns.
  Value rowsOf(Value columns) {
    Node turn = fuser.scope.producer(columns, "Transpose");
    auto order = turn ? fuser.scope.constants.integersOf(turn->getOperand(1)) : std::nullopt;
    if (!order || order->size() < 2 || turn.numControl() || fuser.scope.isKept(turn))
      return {};
    std::swap(order->end()[-1], order->end()[-2]);
    if (llvm::equal(*order, llvm::seq<int64_t>(0, std::ssize(*order))))
      return turn->getOperand(0);
    Type type = columns.getType();
    if (auto ranked = dyn_cast<RankedTensorType>(type)) {
      SmallVector<int64_t> dims(ranked.getShape());
      std::swap(dims.end()[-1], dims.end()[-2]);
      type = ranked.clone(dims);
    }
    SmallVector<int32_t> rows(order->begin(), order->end());
    return transpose(turn->getOperand(0), rows, "keys_in_rows", type)->getResult(0);
  }

  Node build(const Formula::Match &match, ArrayRef<Value> inputs, Type type) {
    Value mask = match["mask"];
    NodeBuilder node(builder, "_Attention");
    node.placedAs(last)
        .attr("num_masks", builder.getI64IntegerAttr(mask ? 1 : 0))
        .attr("scale", builder.getF32FloatAttr(static_cast<float>(match.number("scale"))))
        .attr("causal", builder.getBoolAttr(false))
        .inputs(inputs)
        .control(fuser.controlOf(match.nodes))
        .results({type, unranked()});
    return mask ? node.inputs(mask).build() : node.build();
  }

  Fuser &fuser;
  Node last;
  OpBuilder builder;
};

} // namespace

void fuseAttention(const FusionScope &scope) {
  if (nodesOf(scope.body, [](Node node) { return node.opType() == "Softmax"; }).empty())
    return;
  Fuser fuser(scope);
  auto isProduct = [&](Node node) {
    return (node.opType() == "Einsum" || node.opType().starts_with("BatchMatMul")) &&
           !scope.isKept(node);
  };
  for (Node node : nodesOf(scope.body, isProduct)) {
    if (fuser.isTaken(node))
      continue;
    AttentionFuser attention(fuser, node);
    node.opType() == "Einsum" ? attention.fuseHeads() : attention.fuseMatrices();
  }
}

} // namespace treadle::tfg
