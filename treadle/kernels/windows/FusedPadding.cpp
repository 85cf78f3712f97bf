// FusedPadConv2D and FusedResizeAndPadConv2D, which TensorFlow's graph transforms create: mirror
// padding, possibly of a resized image, and a convolution. They run as these ops one by one, for
// each image of a batch (TensorFlow's own kernels are wrong for all images after the first).
#include "treadle/kernels/Element.h"
#include "treadle/kernels/arrays/Families.h"
#include "treadle/kernels/images/Families.h"
#include "treadle/kernels/windows/Families.h"
#include "treadle/runtime/RunOp.h"

#include <vector>

namespace treadle {
namespace {

/// A kernel bound with attributes of its own.
struct BoundStep {
  std::string op;
  AttrMap attrs;
};

struct Fused {
  std::optional<BoundStep> resize;
  BoundStep pad, convolve;
};

std::optional<Tensor> runStep(OpContext &ctx, const BoundStep &step, std::vector<Tensor> inputs) {
  DType dtype = inputs[0].dtype();
  auto out = ctx.check(runOp({imageResizeKernels, tileKernels, convolutionKernels}, step.op,
                             step.attrs, std::move(inputs), {dtype}));
  return out ? std::optional(std::move(out->at(0))) : std::nullopt;
}

// Inputs: the input, its new size (if resized), the paddings, the filter.
void runFused(OpContext &ctx) {
  const auto &fused = ctx.state<Fused>();
  int paddings = fused.resize ? 2 : 1;
  std::optional<Tensor> image = ctx.input(0);
  if (fused.resize)
    image = runStep(ctx, *fused.resize, {*image, ctx.input(1)});
  if (image)
    image = runStep(ctx, fused.pad, {*image, ctx.input(paddings)});
  if (image)
    image = runStep(ctx, fused.convolve, {*image, ctx.input(paddings + 1)});
  if (image)
    ctx.setOutput(0, std::move(*image));
}

template <bool resizes> Expected<BoundKernel> bindFused(const BindContext &node) {
  DType dtype = node.inputTypes[0];
  if (dtype != DType::Float32 && dtype != DType::Float64 && dtype != DType::Float16)
    return unsupportedDType(node, dtype);
  Fused fused{{}, {"MirrorPad", {}}, {"Conv2D", {}}};
  if (resizes) {
    // Bilinear resizing gives floats for any input dtype.
    if (dtype != DType::Float32)
      return unsupportedDType(node, dtype);
    fused.resize.emplace(BoundStep{"ResizeBilinear", {}});
    fused.resize->attrs.set("align_corners", node.attrs.getOr("resize_align_corners", false));
  }
  fused.pad.attrs.set("mode", node.attrs.getOr("mode", std::string()));
  for (std::string_view name : {"strides", "padding"})
    if (const AttrValue *value = node.attrs.find(name))
      fused.convolve.attrs.set(name, *value);
  return expensive(boundWith(runFused, std::move(fused)));
}

const KernelEntry fusedPaddingTable[] = {
    {"FusedPadConv2D", bindFused<false>},
    {"FusedResizeAndPadConv2D", bindFused<true>},
};

} // namespace

std::span<const KernelEntry> fusedPaddingKernels() { return fusedPaddingTable; }

} // namespace treadle
