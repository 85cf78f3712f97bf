// Gradients of neural network ops.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Values softmaxGradient(Emitter &e, const DifferentiatedNode &f) {
  Term y{&e, f.y(0)}, dy{&e, f.dy()};
  Term total{&e, e.sum(dy * y, e.integers(-1), /*keepDims=*/true)};
  return {(dy - total) * y};
}

Values logSoftmaxGradient(Emitter &e, const DifferentiatedNode &f) {
  Term y{&e, f.y(0)}, dy{&e, f.dy()};
  Term total{&e, e.sum(dy, e.integers(-1), /*keepDims=*/true)};
  return {dy - total * y("Exp")};
}

Value column(Emitter &e, Value x) {
  return e.same("ExpandDims", {x, e.integer(-1)}, e.attr("Tdim", Type(e.builder.getI32Type())));
}

/// The op's second result is the gradient of its loss; the gradient of that result is ignored.
Values sparseCrossEntropyGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("Mul", {column(e, f.dy()), f.y(1)})};
}

Values crossEntropyGradient(Emitter &e, const DifferentiatedNode &f) {
  Value each = column(e, f.dy());
  Value ofLabels = e.same("Neg", e.same("LogSoftmax", f.x(0)));
  return {e.same("Mul", {each, f.y(1)}), e.same("Mul", {each, ofLabels})};
}

Values biasAddGradient(Emitter &e, const DifferentiatedNode &f) {
  return {f.dy(), e.same("BiasAddGrad", f.dy(), e.attrsOf(f.node, {"data_format"}))};
}

Values biasAddGradGradient(Emitter &e, const DifferentiatedNode &f) {
  Value zeros = e.zerosLike(f.x(0));
  return {e.same("BiasAdd", {zeros, f.dy()}, e.attrsOf(f.node, {"data_format"}))};
}

Values l2LossGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("Mul", {f.x(0), f.dy()})};
}

constexpr StringRef lrnAttrs[] = {"depth_radius", "bias", "alpha", "beta"};

Values lrnGradient(Emitter &e, const DifferentiatedNode &f) {
  return {e.same("LRNGrad", {f.dy(), f.x(0), f.y(0)}, e.attrsOf(f.node, lrnAttrs))};
}

/// In training, the op returns the batch mean and variance, which are used here; otherwise its
/// inputs are.
Values batchNormGradient(Emitter &e, const DifferentiatedNode &f, StringRef op, bool hasThird) {
  bool isTraining = !f.node.attr("is_training") || f.flag("is_training");
  SmallVector<NamedAttribute> attrs =
      e.attrsOf(f.node, {"U", "epsilon", "data_format", "is_training"});
  attrs.push_back(e.attr("T", f.element()));
  SmallVector<Value> inputs = {f.dy(), f.x(0), f.x(1), isTraining ? f.y(3) : f.x(3),
                               isTraining ? f.y(4) : f.x(4)};
  Type u = elementOf(f.x(1));
  if (hasThird)
    inputs.push_back(f.y(5));
  Node gradient = e.emit(op, inputs, {f.element(), u, u, u, u}, attrs);
  return {gradient->getResult(0), gradient->getResult(1), gradient->getResult(2)};
}

} // namespace

void addNeuralGradients(GradientTable &table) {
  table["Softmax"] = softmaxGradient;
  table["LogSoftmax"] = logSoftmaxGradient;
  table["SoftmaxCrossEntropyWithLogits"] = crossEntropyGradient;
  table["SparseSoftmaxCrossEntropyWithLogits"] = sparseCrossEntropyGradient;
  table["BiasAdd"] = biasAddGradient;
  table["BiasAddV1"] = biasAddGradient;
  table["BiasAddGrad"] = biasAddGradGradient;
  table["L2Loss"] = l2LossGradient;
  table["LRN"] = lrnGradient;
  table["FusedBatchNorm"] = [](Emitter &e, const DifferentiatedNode &f) {
    return batchNormGradient(e, f, "FusedBatchNormGrad", false);
  };
  table["FusedBatchNormV2"] = [](Emitter &e, const DifferentiatedNode &f) {
    return batchNormGradient(e, f, "FusedBatchNormGradV2", false);
  };
  table["FusedBatchNormV3"] = [](Emitter &e, const DifferentiatedNode &f) {
    return batchNormGradient(e, f, "FusedBatchNormGradV3", true);
  };
}

} // namespace treadle::tfg
