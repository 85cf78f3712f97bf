// Gradients of what neural networks are made of.
#include "treadle/transforms/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Values softmaxGradient(Emitter &e, const Forward &f) {
  Term y{&e, f.y(0)}, dy{&e, f.dy()};
  Term total{&e, e.sum(dy * y, e.integers(-1), /*keepDims=*/true)};
  return {(dy - total) * y};
}

Values logSoftmaxGradient(Emitter &e, const Forward &f) {
  Term y{&e, f.y(0)}, dy{&e, f.dy()};
  Term total{&e, e.sum(dy, e.integers(-1), /*keepDims=*/true)};
  return {dy - total * y("Exp")};
}

/// The op's second result is the gradient of its loss; what flows to that result is left out, and
/// labels count as constant.
Values crossEntropyGradient(Emitter &e, const Forward &f) {
  Value column =
      e.same("ExpandDims", {f.dy(), e.integer(-1)}, e.attr("Tdim", Type(e.builder.getI32Type())));
  return {e.same("Mul", {column, f.y(1)})};
}

constexpr StringRef convolutionAttrs[] = {"strides",     "use_cudnn_on_gpu", "padding",
                                          "data_format", "dilations",        "explicit_paddings"};

Values convolutionGradient(Emitter &e, const Forward &f) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, convolutionAttrs);
  attrs.push_back(e.attr("T", f.element()));
  auto part = [&](StringRef op, ValueRange inputs) {
    return e.emit(op, inputs, f.element(), attrs)->getResult(0);
  };
  return {part("Conv2DBackpropInput", {e.shapeOf(f.x(0)), f.x(1), f.dy()}),
          part("Conv2DBackpropFilter", {f.x(0), e.shapeOf(f.x(1)), f.dy()})};
}

constexpr StringRef poolAttrs[] = {"ksize", "strides", "padding", "data_format",
                                   "explicit_paddings"};

Values maxPoolGradient(Emitter &e, const Forward &f) {
  return {e.same("MaxPoolGrad", {f.x(0), f.y(0), f.dy()}, e.attrsOf(f.node, poolAttrs))};
}

Values avgPoolGradient(Emitter &e, const Forward &f) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, poolAttrs);
  attrs.push_back(e.attr("T", f.element()));
  return {e.emit("AvgPoolGrad", {e.shapeOf(f.x(0)), f.dy()}, f.element(), attrs)->getResult(0)};
}

Values biasAddGradient(Emitter &e, const Forward &f) {
  return {f.dy(), e.same("BiasAddGrad", f.dy(), e.attrsOf(f.node, {"data_format"}))};
}

} // namespace

void addNeuralGradients(GradientTable &table) {
  table["Softmax"] = softmaxGradient;
  table["LogSoftmax"] = logSoftmaxGradient;
  table["SoftmaxCrossEntropyWithLogits"] = crossEntropyGradient;
  table["SparseSoftmaxCrossEntropyWithLogits"] = crossEntropyGradient;
  table["Conv2D"] = convolutionGradient;
  table["MaxPool"] = maxPoolGradient;
  table["AvgPool"] = avgPoolGradient;
  table["BiasAdd"] = biasAddGradient;
}

} // namespace treadle::tfg
