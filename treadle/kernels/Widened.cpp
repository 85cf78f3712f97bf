#include "treadle/kernels/Widened.h"

#include "treadle/kernels/elementwise/Families.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/RunOp.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

bool isHalf(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

std::optional<Tensor> cast(OpContext &ctx, const Tensor &from, DType to) {
  AttrMap attrs;
  attrs.set("SrcT", TypeAttr{from.dtype()});
  attrs.set("DstT", TypeAttr{to});
  auto out = ctx.check(runOp({castKernels}, "Cast", attrs, {from}, {to}));
  return out ? std::optional(std::move(out->front())) : std::nullopt;
}

struct WidenedState {
  InnerKernel inner;
  DType half;
};

bool widenInputs(OpContext &ctx, DType half, std::vector<Tensor> &inputs) {
  for (int i = 0; i < ctx.numInputs(); ++i) {
    inputs.push_back(ctx.takeInput(i));
    if (inputs[i].dtype() != half)
      continue;
    std::optional<Tensor> wide = cast(ctx, inputs[i], DType::Float32);
    if (!wide)
      return false;
    inputs[i] = std::move(*wide);
  }
  return true;
}

void runWidened(OpContext &context) {
  Execution &ctx = Execution::of(context);
  const auto &self = ctx.state<WidenedState>();
  std::vector<Tensor> inputs;
  if (!widenInputs(ctx, self.half, inputs))
    return;
  self.inner.run(ctx, inputs);
  for (int i = 0; i < ctx.numOutputs() && !ctx.hasFailed(); ++i)
    if (std::optional<Tensor> out = cast(ctx, ctx.output(i), self.half))
      ctx.setOutput(i, std::move(*out));
}

} // namespace

Expected<BoundKernel> bindWidened(BindFn bind, const BindContext &node) {
  DType half = node.outputTypes.empty() ? DType::Invalid : node.outputTypes[0];
  if (!isHalf(half))
    return bind(node);
  auto widened = [&](std::span<const DType> types) {
    std::vector<DType> out(types.begin(), types.end());
    std::ranges::replace(out, half, DType::Float32);
    return out;
  };
  std::vector<DType> inputs = widened(node.inputTypes), outputs = widened(node.outputTypes);
  BoundKernel inner =
      TREADLE_TRY(bind({node.node, node.op, node.attrs, inputs, outputs, node.device}));
  BoundKernel bound = boundWith(runWidened, WidenedState{InnerKernel(inner, inputs.size()), half});
  bound.isExpensive = inner.isExpensive;
  return bound;
}

} // namespace treadle
