// Normalisation over the last dimension as graphs spell it: means of x and of its squared distance
// from the mean, and then (x - mean) / sqrt(variance + epsilon), or x * f + (offset - mean * f).
#include "treadle/transforms/remap/Remapper.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class Matcher {
public:
  Matcher(const Remapper &remapper, Node root) : remapper(remapper) {
    nodes.insert(root.getOperation());
  }

  /// (x - mean) * f + offset, without the offset and without a scale too.
  std::optional<LayerNorm> match(Node root) {
    Value result = root->getResult(0);
    auto norm = matchSum(result);
    if (!norm)
      norm = matchScaled(result);
    if (norm)
      norm->axis = *axis;
    return norm;
  }

  NodeSet nodes;

private:
  Node take(Value value, StringRef opType) {
    Node node = value ? remapper.producer(value) : Node();
    if (!node || node.opType() != opType)
      return {};
    nodes.insert(node.getOperation());
    return node;
  }
  Node takeSum(Value value) {
    Node node = take(value, "AddV2");
    return node ? node : take(value, "Add");
  }

  /// Calls `visit` with the operands of a node in both orders, until it gives something; what a
  /// vain visit took is given back.
  template <typename Visit> std::optional<LayerNorm> eitherWay(Node node, Visit visit) {
    NodeSet before = nodes;
    for (unsigned i : {0U, 1U}) {
      if (auto found = visit(node->getOperand(i), node->getOperand(1 - i)))
        return found;
      nodes = before;
    }
    return std::nullopt;
  }

  std::optional<LayerNorm> matchSum(Value value) {
    NodeSet before = nodes;
    Node sum = takeSum(value);
    if (!sum)
      return std::nullopt;
    auto found = eitherWay(sum, [&](Value a, Value b) -> std::optional<LayerNorm> {
      if (auto norm = matchFactored(a, b))
        return norm;
      auto norm = matchScaled(a);
      if (norm)
        norm->offset = b;
      return norm;
    });
    if (!found)
      nodes = before;
    return found;
  }

  /// x * f and offset - mean * f, where f = scale / sqrt(variance + epsilon).
  std::optional<LayerNorm> matchFactored(Value product, Value rest) {
    NodeSet before = nodes;
    Node mul = take(product, "Mul");
    std::optional<LayerNorm> found;
    if (mul)
      found = eitherWay(mul, [&](Value x, Value f) -> std::optional<LayerNorm> {
        auto [mean, offset] = takeMeanAway(rest, f);
        auto norm = mean ? matchFactor(f, x, mean) : std::nullopt;
        if (norm)
          norm->offset = offset;
        return norm;
      });
    if (!found)
      nodes = before;
    return found;
  }

  /// The mean and the offset of offset - mean * f, or of -mean * f + offset.
  std::pair<Value, Value> takeMeanAway(Value rest, Value f) {
    if (Node sub = take(rest, "Sub"))
      return {takeFactorOf(sub->getOperand(1), f), sub->getOperand(0)};
    Node sum = takeSum(rest);
    for (unsigned i : {0U, 1U}) {
      Value negative = sum ? takeFactorOf(sum->getOperand(i), f) : Value();
      if (Node neg = negative ? take(negative, "Neg") : Node())
        return {neg->getOperand(0), sum->getOperand(1 - i)};
    }
    return {};
  }

  /// What is multiplied by f.
  Value takeFactorOf(Value product, Value f) {
    Node mul = take(product, "Mul");
    for (unsigned i : {0U, 1U})
      if (mul && mul->getOperand(1 - i) == f)
        return mul->getOperand(i);
    return {};
  }

  /// f = scale * rsqrt(variance + epsilon), of that x and that mean.
  std::optional<LayerNorm> matchFactor(Value f, Value x, Value mean) {
    if (auto epsilon = matchDeviation(f, "Rsqrt", x, mean))
      return LayerNorm{x, mean, {}, {}, *epsilon};
    Node mul = take(f, "Mul");
    if (!mul)
      return std::nullopt;
    return eitherWay(mul, [&](Value root, Value scale) -> std::optional<LayerNorm> {
      auto epsilon = matchDeviation(root, "Rsqrt", x, mean);
      return epsilon ? std::optional(LayerNorm{x, mean, scale, {}, *epsilon}) : std::nullopt;
    });
  }

  /// (x - mean) * f, (x - mean) / sqrt(variance + epsilon), or one of them times a scale.
  std::optional<LayerNorm> matchScaled(Value value) {
    NodeSet before = nodes;
    if (auto norm = matchPlain(value))
      return norm;
    nodes = before;
    Node mul = take(value, "Mul");
    std::optional<LayerNorm> found;
    if (mul)
      found = eitherWay(mul, [&](Value a, Value b) {
        auto norm = matchPlain(a);
        if (norm && !norm->scale)
          norm->scale = b;
        else
          norm.reset();
        return norm;
      });
    if (!found)
      nodes = before;
    return found;
  }

  std::optional<LayerNorm> matchPlain(Value value) {
    if (Node div = take(value, "RealDiv")) {
      Node sub = take(div->getOperand(0), "Sub");
      if (!sub)
        return std::nullopt;
      auto epsilon =
          matchDeviation(div->getOperand(1), "Sqrt", sub->getOperand(0), sub->getOperand(1));
      return epsilon ? std::optional(
                           LayerNorm{sub->getOperand(0), sub->getOperand(1), {}, {}, *epsilon})
                     : std::nullopt;
    }
    Node mul = take(value, "Mul");
    if (!mul)
      return std::nullopt;
    return eitherWay(mul, [&](Value difference, Value f) -> std::optional<LayerNorm> {
      Node sub = take(difference, "Sub");
      return sub ? matchFactor(f, sub->getOperand(0), sub->getOperand(1)) : std::nullopt;
    });
  }

  /// The epsilon of rsqrt(variance + epsilon) or its like, if it is that of `x`.
  std::optional<float> matchDeviation(Value value, StringRef opType, Value x, Value mean) {
    NodeSet before = nodes;
    Node root = take(value, opType);
    Node sum = root ? takeSum(root->getOperand(0)) : Node();
    if (sum)
      for (unsigned i : {0U, 1U}) {
        auto epsilon = remapper.scalar(sum->getOperand(i));
        if (epsilon && isMean(mean, x) && isVariance(sum->getOperand(1 - i), x, mean))
          return static_cast<float>(*epsilon);
      }
    nodes = before;
    return std::nullopt;
  }

  /// A mean over one dimension, which stays, and is the same for all means.
  Node takeMean(Value value) {
    Node node = take(value, "Mean");
    auto keeps = node ? node.attr<BoolAttr>("keep_dims") : BoolAttr();
    if (!keeps || !keeps.getValue())
      return {};
    auto axes = remapper.constants.integersOf(remapper.source(node->getOperand(1)));
    if (!axes || axes->size() != 1 || axis.value_or(axes->front()) != axes->front())
      return {};
    axis = axes->front();
    return node;
  }

  bool isMean(Value value, Value x) {
    Node node = takeMean(value);
    return node && node->getOperand(0) == x;
  }

  bool isVariance(Value value, Value x, Value mean) {
    Node node = takeMean(value);
    if (!node)
      return false;
    Value squares = node->getOperand(0);
    if (Node difference = take(squares, "SquaredDifference")) {
      for (unsigned i : {0U, 1U})
        if (difference->getOperand(i) == x &&
            behindStopGradient(difference->getOperand(1 - i)) == mean)
          return true;
      return false;
    }
    Node square = take(squares, "Square");
    if (!square)
      square = takeProductWithItself(squares);
    Node sub = square ? take(square->getOperand(0), "Sub") : Node();
    return sub && sub->getOperand(0) == x && behindStopGradient(sub->getOperand(1)) == mean;
  }

  Node takeProductWithItself(Value value) {
    Node node = take(value, "Mul");
    return node && node->getOperand(0) == node->getOperand(1) ? node : Node();
  }

  Value behindStopGradient(Value value) {
    Node node = take(value, "StopGradient");
    return node ? node->getOperand(0) : value;
  }

  const Remapper &remapper;
  std::optional<int64_t> axis;
};

bool isVectorOf(Value value, int64_t n) {
  RankedTensorType type = rankedTypeOf(value);
  return type && type.getRank() == 1 && type.getDimSize(0) == n;
}

/// Whether a scale or an offset (or none) can be a vector, one element a column of x.
bool fits(const Remapper &remapper, Value value, Value x) {
  int64_t n = lastDim(x);
  if (!value || isVectorOf(value, n))
    return true;
  Tensor given = remapper.constant(value);
  return given && given.rank() <= rankedTypeOf(x).getRank() &&
         (given.count() == 1 || (given.count() == n && given.dim(given.rank() - 1) == n));
}

/// That vector: the value as it is, or a constant.
Value vectorOf(Remapper &remapper, Node root, StringRef suffix, Value value, float otherwise,
               Value x) {
  int64_t n = lastDim(x);
  if (value && isVectorOf(value, n))
    return value;
  Tensor given = value ? remapper.constant(value) : Tensor();
  Expected<Tensor> vector = Tensor::make(DType::Float32, Dims(&n, 1));
  if (!vector)
    return {};
  for (int64_t i = 0; i < n; ++i)
    vector->data<float>()[i] = given ? given.data<float>()[given.count() == 1 ? 0 : i] : otherwise;
  return remapper.makeConstant(root, suffix, *vector, value ? ValueRange(value) : ValueRange(), x);
}

} // namespace

std::optional<LayerNorm> matchLayerNorm(const Remapper &remapper, Node root, NodeSet &nodes) {
  static const llvm::StringSet<> ends = {"Add", "AddV2", "Mul", "RealDiv"};
  if (!ends.contains(root.opType()) || !isFloat32(root->getResult(0)))
    return std::nullopt;
  Matcher matcher(remapper, root);
  std::optional<LayerNorm> norm = matcher.match(root);
  if (norm)
    nodes.insert(matcher.nodes.begin(), matcher.nodes.end());
  return norm;
}

Node fuseLayerNorm(Remapper &remapper, Node root) {
  NodeSet nodes;
  std::optional<LayerNorm> norm = matchLayerNorm(remapper, root, nodes);
  if (!norm || !remapper.canFuse(root, nodes))
    return {};
  // TensorFlow's kernel knows two and three dimensions, and normalises over the last one.
  int64_t n = lastDim(norm->x), rank = rankedTypeOf(norm->x) ? rankedTypeOf(norm->x).getRank() : 0;
  if ((norm->axis != -1 && norm->axis != rank - 1) || rank < 2 || rank > 3 ||
      ShapedType::isDynamic(n) || n == 0 || !fits(remapper, norm->scale, norm->x) ||
      !fits(remapper, norm->offset, norm->x))
    return {};
  Value scale = vectorOf(remapper, root, "scale", norm->scale, 1, norm->x);
  Value offset = scale ? vectorOf(remapper, root, "offset", norm->offset, 0, norm->x) : Value();
  if (!offset)
    return {};
  OpBuilder builder(root.getOperation());
  Node fused = NodeBuilder(builder, "_MklLayerNorm")
                   .placedAs(root)
                   .attr("T", dtypeAttr(norm->x.getType()))
                   .attr("epsilon", builder.getF32FloatAttr(norm->epsilon))
                   .inputs({norm->x, scale, offset})
                   .control(remapper.controlOf(nodes))
                   .results(root->getResult(0).getType())
                   .build();
  remapper.replace(root, fused, nodes);
  return fused;
}

} // namespace treadle::tfg
