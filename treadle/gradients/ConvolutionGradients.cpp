// Gradients of convolutions and pooling.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr StringRef convolutionAttrs[] = {"strides",     "use_cudnn_on_gpu", "padding",
                                          "data_format", "dilations",        "explicit_paddings"};
constexpr StringRef poolAttrs[] = {"ksize", "strides", "padding", "data_format",
                                   "explicit_paddings"};

Value withAttrs(Emitter &e, const DifferentiatedNode &f, StringRef op, ValueRange inputs,
                ArrayRef<StringRef> names) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, names);
  Type element = elementOf(f.dy());
  attrs.push_back(e.attr("T", element));
  return e.emit(op, inputs, element, attrs)->getResult(0);
}

/// The ops of one kind of convolution.
struct Convolution {
  const char *forward, *inputGradientOp, *filterGradientOp;
};

constexpr Convolution convolutions[] = {
    {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
    {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
     "DepthwiseConv2dNativeBackpropFilter"},
    {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"},
};

Value inputGradientOp(Emitter &e, const DifferentiatedNode &f, const Convolution &c, Value x,
                      Value filter, Value dy) {
  return withAttrs(e, f, c.inputGradientOp, {e.shapeOf(x), filter, dy}, convolutionAttrs);
}

Value filterGradientOp(Emitter &e, const DifferentiatedNode &f, const Convolution &c, Value x,
                       Value filter, Value dy) {
  return withAttrs(e, f, c.filterGradientOp, {x, e.shapeOf(filter), dy}, convolutionAttrs);
}

Value convolved(Emitter &e, const DifferentiatedNode &f, const Convolution &c, Value x,
                Value filter) {
  return withAttrs(e, f, c.forward, {x, filter}, convolutionAttrs);
}

void addConvolution(GradientTable &table, const Convolution &c) {
  table[c.forward] = [c](Emitter &e, const DifferentiatedNode &f) -> Values {
    return {inputGradientOp(e, f, c, f.x(0), f.x(1), f.dy()),
            filterGradientOp(e, f, c, f.x(0), f.x(1), f.dy())};
  };
  // Inputs (input sizes, filter, dy): the input's gradient takes the role of the input.
  table[c.inputGradientOp] = [c](Emitter &e, const DifferentiatedNode &f) -> Values {
    return {nullptr, filterGradientOp(e, f, c, f.dy(), f.x(1), f.x(2)),
            convolved(e, f, c, f.dy(), f.x(1))};
  };
  // Inputs (input, filter sizes, dy): the filter's gradient takes the role of the filter.
  table[c.filterGradientOp] = [c](Emitter &e, const DifferentiatedNode &f) -> Values {
    return {inputGradientOp(e, f, c, f.x(0), f.dy(), f.x(2)), nullptr,
            convolved(e, f, c, f.x(0), f.dy())};
  };
}

Values maxPoolGradient(Emitter &e, const DifferentiatedNode &f) {
  return {withAttrs(e, f, "MaxPoolGrad", {f.x(0), f.y(0), f.dy()}, poolAttrs)};
}

Values maxPoolV2Gradient(Emitter &e, const DifferentiatedNode &f) {
  return {withAttrs(e, f, "MaxPoolGradV2", {f.x(0), f.y(0), f.dy(), f.x(1), f.x(2)},
                    {"padding", "data_format"})};
}

Values maxPool3DGradient(Emitter &e, const DifferentiatedNode &f) {
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, poolAttrs);
  attrs.append({e.attr("T", f.element()), e.attr("TInput", f.element())});
  return {e.emit("MaxPool3DGrad", {f.x(0), f.y(0), f.dy()}, f.element(), attrs)->getResult(0)};
}

Values maxPoolWithArgmaxGradient(Emitter &e, const DifferentiatedNode &f) {
  return {withAttrs(e, f, "MaxPoolGradWithArgmax", {f.x(0), f.dy(), f.y(1)},
                    {"ksize", "strides", "padding", "Targmax", "include_batch_in_index"})};
}

Values avgPoolGradient(Emitter &e, const DifferentiatedNode &f) {
  return {withAttrs(e, f, "AvgPoolGrad", {e.shapeOf(f.x(0)), f.dy()}, poolAttrs)};
}

Values avgPool3DGradient(Emitter &e, const DifferentiatedNode &f) {
  return {withAttrs(e, f, "AvgPool3DGrad", {e.shapeOf(f.x(0)), f.dy()}, poolAttrs)};
}

} // namespace

void addConvolutionGradients(GradientTable &table) {
  for (const Convolution &convolution : convolutions)
    addConvolution(table, convolution);
  table["MaxPool"] = maxPoolGradient;
  table["MaxPoolV2"] = maxPoolV2Gradient;
  table["MaxPool3D"] = maxPool3DGradient;
  table["MaxPoolWithArgmax"] = maxPoolWithArgmaxGradient;
  table["AvgPool"] = avgPoolGradient;
  table["AvgPool3D"] = avgPool3DGradient;
}

} // namespace treadle::tfg
