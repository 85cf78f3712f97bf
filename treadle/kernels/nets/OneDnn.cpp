// Fused ops that TensorFlow's optimizer creates for oneDNN: they run as the separate ops, one by
// one.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Widened.h"
#include "treadle/kernels/arrays/Families.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/nets/Families.h"
#include "treadle/kernels/products/Families.h"
#include "treadle/kernels/reductions/Families.h"
#include "treadle/kernels/windows/Families.h"
#include "treadle/runtime/RunOp.h"

#include <vector>

namespace treadle {
namespace {

/// Runs float ops one by one; stops after the first that fails.
class FloatOpSequence {
public:
  FloatOpSequence(OpContext &ctx, DType dtype) : ctx(ctx), dtype(dtype) {}

  Tensor run(std::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    if (ctx.hasFailed())
      return {};
    attrs.set("T", TypeAttr{dtype});
    auto out =
        ctx.check(runOp({matMulKernels, elementwiseArithmeticKernels, elementwiseUnaryKernels,
                         elementwiseMathKernels, activationKernels, reductionKernels,
                         convolutionKernels, biasKernels, tileKernels, shapeKernels},
                        op, attrs, std::move(inputs), {dtype}));
    return out ? std::move(out->front()) : Tensor();
  }

private:
  OpContext &ctx;
  DType dtype;
};

AttrMap flag(std::string_view name, bool value) {
  AttrMap attrs;
  attrs.set(name, value);
  return attrs;
}

struct Composed {
  DType dtype;
  AttrMap attrs; // attributes of the node
};

using Compute = Tensor (*)(OpContext &, FloatOpSequence &, const AttrMap &);

template <Compute compute> void runComposed(OpContext &ctx) {
  const auto &state = ctx.state<Composed>();
  FloatOpSequence steps(ctx, state.dtype);
  Tensor result = compute(ctx, steps, state.attrs);
  if (!ctx.hasFailed())
    ctx.setOutput(0, std::move(result));
}

template <Compute compute> Expected<BoundKernel> bindFloats(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  if (dtype != DType::Float32)
    return unsupportedDType(node, dtype);
  return expensive(boundWith(runComposed<compute>, Composed{dtype, node.attrs}));
}

template <Compute compute> constexpr BindFn bindComposed = bindWithHalfFloats<bindFloats<compute>>;

// --- convolutions --------------------------------------------------------------------------------

// Inputs: the images, the filter, the bias.
Tensor convolveWithBias(OpContext &ctx, FloatOpSequence &steps, const AttrMap &attrs) {
  Tensor out = steps.run("Conv2D", {ctx.input(0), ctx.input(1)}, attrs);
  return steps.run("BiasAdd", {out, ctx.input(2)}, attrs);
}

// Inputs: the images, the filter, the arguments of fused_ops, the paddings.
template <bool isFused>
Tensor padAndConvolve(OpContext &ctx, FloatOpSequence &steps, const AttrMap &attrs) {
  int last = ctx.numInputs() - 1;
  std::vector<Tensor> inputs = {steps.run("Pad", {ctx.input(0), ctx.input(last)})};
  for (int i = 1; i < last; ++i)
    inputs.push_back(ctx.input(i));
  return steps.run(isFused ? "_FusedConv2D" : "Conv2D", std::move(inputs), attrs);
}

// Inputs: the images, the shape of the filter, the gradient of the result.
Tensor filterAndBiasGradient(OpContext &ctx, FloatOpSequence &steps, const AttrMap &attrs) {
  Tensor bias = steps.run("BiasAddGrad", {ctx.input(2)}, attrs);
  if (!ctx.hasFailed())
    ctx.setOutput(1, std::move(bias));
  return steps.run("Conv2DBackpropFilter", {ctx.input(0), ctx.input(1), ctx.input(2)}, attrs);
}

// --- products ------------------------------------------------------------------------------------

using Names = std::vector<std::string>;

// Inputs: the matrices, and one operand for each fused step.
Tensor multiplyBatches(OpContext &ctx, FloatOpSequence &steps, const AttrMap &attrs) {
  Tensor out = steps.run("BatchMatMulV2", {ctx.input(0), ctx.input(1)}, attrs);
  int next = 2;
  for (const std::string &step : attrs.getOr("fused_ops", Names()))
    out = steps.run(step == "Mul" ? "Mul" : "AddV2", {out, ctx.input(next++)});
  return out;
}

Expected<BoundKernel> bindBatches(const BindContext &node) {
  Names ops = node.attrs.getOr("fused_ops", Names());
  for (const std::string &step : ops)
    if (step != "Mul" && step != "Add")
      return Unexpected(unimplemented("op '", node.op, "' does not support ", step,
                                      " in fused_ops; supported are Mul and Add"));
  if (node.inputTypes.size() != 2 + ops.size())
    return Unexpected(invalidArgument("has ", node.inputTypes.size(),
                                      " inputs, but its fused_ops need ", 2 + ops.size()));
  return bindFloats<multiplyBatches>(node);
}

// --- normalization and activations ---------------------------------------------------------------

/// Reshapes one number per channel so that it broadcasts with the images.
Tensor alongChannels(OpContext &ctx, FloatOpSequence &steps, const Tensor &numbers,
                     const std::vector<int64_t> &axes) {
  int rank = ctx.input(0).rank();
  bool isLast = std::ranges::find(axes, rank - 1) == axes.end();
  std::vector<int32_t> dims(static_cast<size_t>(rank), 1);
  dims[isLast ? dims.size() - 1 : 1] = -1;
  auto shape = ctx.check(Tensor::make(DType::Int32, {rank}));
  if (!shape)
    return {};
  std::ranges::copy(dims, shape->data<int32_t>());
  return steps.run("Reshape", {numbers, *shape});
}

// Inputs: the images, and a factor and an offset per channel.
Tensor normaliseInstances(OpContext &ctx, FloatOpSequence &steps, const AttrMap &attrs) {
  const Tensor x = ctx.input(0);
  auto axes = attrs.getOr("reduction_axes", std::vector<int64_t>());
  if (x.rank() < 3 || static_cast<int>(axes.size()) != x.rank() - 2) {
    ctx.fail(invalidArgument("reduction_axes has ", axes.size(),
                             " axes, expected the spatial ones of ", dimsText(x.dims())));
    return {};
  }
  auto over = ctx.check(Tensor::make(DType::Int64, {static_cast<int64_t>(axes.size())}));
  if (!over)
    return {};
  std::ranges::copy(axes, over->data<int64_t>());
  AttrMap keeping = flag("keep_dims", true);
  Tensor mean = steps.run("Mean", {x, *over}, keeping);
  Tensor variance = steps.run("Mean", {steps.run("SquaredDifference", {x, mean}), *over}, keeping);
  Tensor epsilon = Tensor::scalar(DType::Float32, attrs.getOr("epsilon", 0.0001f));
  Tensor factor = steps.run("Rsqrt", {steps.run("AddV2", {variance, epsilon})});
  factor = steps.run("Mul", {factor, alongChannels(ctx, steps, ctx.input(1), axes)});
  Tensor out = steps.run("Mul", {steps.run("Sub", {x, mean}), factor});
  out = steps.run("AddV2", {out, alongChannels(ctx, steps, ctx.input(2), axes)});
  AttrMap slope;
  slope.set("alpha", attrs.getOr("leakyrelu_alpha", 0.2f));
  for (const std::string &activation : attrs.getOr("fused_ops", Names()))
    out = steps.run(activation, {out}, slope);
  return out;
}

Expected<BoundKernel> bindInstances(const BindContext &node) {
  for (const std::string &step : node.attrs.getOr("fused_ops", Names()))
    if (step != "Relu" && step != "LeakyRelu")
      return Unexpected(unimplemented("op '", node.op, "' does not support ", step,
                                      " in fused_ops; supported are Relu and LeakyRelu"));
  return bindFloats<normaliseInstances>(node);
}

Tensor mish(OpContext &ctx, FloatOpSequence &steps, const AttrMap &) {
  const Tensor &x = ctx.input(0);
  return steps.run("Mul", {x, steps.run("Tanh", {steps.run("Softplus", {x})})});
}

const KernelEntry oneDnnTable[] = {
    {"_MklNativeConv2DWithBias", bindComposed<convolveWithBias>},
    {"_MklNativePadWithConv2D", bindComposed<padAndConvolve<false>>},
    {"_MklNativePadWithFusedConv2D", bindComposed<padAndConvolve<true>>},
    {"_MklNativeConv2DBackpropFilterWithBias", bindComposed<filterAndBiasGradient>},
    {"_MklFusedBatchMatMulV2", bindWithHalfFloats<bindBatches>},
    {"_MklFusedInstanceNorm", bindWithHalfFloats<bindInstances>},
    {"_MklFusedMish", bindComposed<mish>},
};

} // namespace

std::span<const KernelEntry> oneDnnKernels() { return oneDnnTable; }

} // namespace treadle
