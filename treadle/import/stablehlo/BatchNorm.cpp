// Converts batch_norm_training, batch_norm_inference and batch_norm_grad as specified by StableHLO:
// means are taken over all dimensions except the feature dimension.
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

/// Shared by the three ops, whose first operand has a feature dimension.
class Normalizer {
public:
  Normalizer(BodyConverter &body, Operation *op)
      : body(body), x(input(body, op, 0)), type(rankedOf(x)), element(type.getElementType()) {
    int64_t feature = numberOr(op, "feature_index", type.getRank() - 1);
    shape.assign(type.getRank(), 1);
    shape[feature] = type.isDynamicDim(feature) ? -1 : type.getDimSize(feature);
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (d != feature) {
        others.push_back(d);
        count *= static_cast<double>(type.getDimSize(d));
      }
    auto attr = op->getAttrOfType<FloatAttr>("epsilon");
    epsilon = body.scalar(element, attr ? attr.getValueAsDouble() : 0);
  }

  /// Reshapes per-feature numbers so that they broadcast to the operand.
  Value spread(Value feature) { return body.reshape(feature, shape); }
  Value sum(Value of) { return body.node("Sum", {of, body.vector(others)}, spreadLess.getType()); }
  Value mean(Value of) {
    if (!type.hasStaticShape())
      return body.node("Mean", {of, body.vector(others)}, spreadLess.getType());
    return body.like("Mul", {sum(of), body.scalar(element, 1.0 / count)});
  }
  /// 1 / sqrt(variance + epsilon) for each feature.
  Value inverseDeviation(Value variance) {
    return body.like("Rsqrt", body.like("AddV2", {variance, epsilon}));
  }
  Value op(StringRef name, Value a, Value b) { return body.node(name, {a, b}, type); }
  /// (x - mean) / deviation * scale + offset
  Value normalized(Value mean, Value variance, Value scale, Value offset) {
    Value factor = body.like("Mul", {inverseDeviation(variance), scale});
    Value centred = op("Sub", x, spread(mean));
    return op("AddV2", op("Mul", centred, spread(factor)), spread(offset));
  }

  BodyConverter &body;
  Value x, spreadLess, epsilon; // per-feature value of any shape that broadcasts
  RankedTensorType type;
  Type element;
  SmallVector<int64_t> shape, others;
  double count = 1; // number of elements per feature if all sizes are known
};

} // namespace

static LogicalResult readInference(BodyConverter &body, Operation *op) {
  Normalizer n(body, op);
  body.map(op->getResult(0), n.normalized(input(body, op, 3), input(body, op, 4),
                                          input(body, op, 1), input(body, op, 2)));
  return success();
}

static LogicalResult readTraining(BodyConverter &body, Operation *op) {
  Normalizer n(body, op);
  n.spreadLess = input(body, op, 1);
  Value mean = n.mean(n.x), centred = n.op("Sub", n.x, n.spread(mean));
  Value variance = n.mean(n.op("Mul", centred, centred));
  body.map(op->getResult(0), n.normalized(mean, variance, input(body, op, 1), input(body, op, 2)));
  body.map(op->getResult(1), mean);
  body.map(op->getResult(2), variance);
  return success();
}

/// With i = 1 / sqrt(variance + epsilon) and y = (x - mean) i, the gradients are: of scale sum(g
/// y), of offset sum(g), of x scale i (g - mean(g) - y mean(g y)).
static LogicalResult readGradient(BodyConverter &body, Operation *op) {
  Normalizer n(body, op);
  Value scale = n.spreadLess = input(body, op, 1), gradient = input(body, op, 4);
  Value inverse = n.inverseDeviation(input(body, op, 3));
  Value y = n.op("Mul", n.op("Sub", n.x, n.spread(input(body, op, 2))), n.spread(inverse));
  Value product = n.op("Mul", gradient, y);
  Value byMean = n.op("Sub", gradient, n.spread(n.mean(gradient)));
  Value rest = n.op("Sub", byMean, n.op("Mul", y, n.spread(n.mean(product))));
  Value factor = body.like("Mul", {scale, inverse});
  body.map(op->getResult(0), n.op("Mul", rest, n.spread(factor)));
  body.map(op->getResult(1), n.sum(product));
  body.map(op->getResult(2), n.sum(gradient));
  return success();
}

static constexpr ConverterRow rows[] = {
    {"batch_norm_inference", readInference},
    {"batch_norm_training", readTraining},
    {"batch_norm_grad", readGradient},
};

ArrayRef<ConverterRow> hlo::batchNormRows() { return rows; }
