#include "treadle/runtime/OpAliases.h"

#include "treadle/ops/OpAlias.h"
#include "treadle/runtime/Execution.h"

#include <algorithm>

namespace treadle {
namespace {

/// A kernel that sees only the first inputs and outputs of its node.
struct Narrowed {
  BoundKernel inner;
  size_t numInputs, numOutputs;
};

// The trailing inputs and outputs describe memory layouts. Tensors here are always dense and
// row-major, so they are empty.
void runNarrowed(OpContext &context) {
  Execution &ctx = Execution::of(context);
  const auto &self = ctx.state<Narrowed>();
  const uint32_t numInputs = ctx.inputCount, numOutputs = ctx.outputCount;
  ctx.inputCount = static_cast<uint32_t>(self.numInputs);
  ctx.outputCount = static_cast<uint32_t>(self.numOutputs);
  ctx.boundState = self.inner.state.get();
  self.inner.fn(ctx);
  ctx.inputCount = numInputs;
  ctx.outputCount = numOutputs;
  ctx.boundState = &self;
  for (size_t i = self.numOutputs; i < numOutputs; ++i)
    ctx.setOutput(static_cast<int>(i), *Tensor::make(DType::UInt8, {0}));
}

/// Returns the number of inputs before those that describe memory layouts.
size_t countSharedInputs(const OpDef &op, const BindContext &node) {
  size_t count = 0;
  for (const ArgDef &arg : op.inputs()) {
    if (arg.type() == DType::UInt8)
      return std::min(count, node.inputTypes.size());
    int64_t length = arg.numberAttr().empty() ? 1 : node.attrs.getOr<int64_t>(arg.numberAttr(), 0);
    count += std::min(static_cast<size_t>(length), node.inputTypes.size());
  }
  return node.inputTypes.size();
}

Expected<BoundKernel> bindAs(const OpDef &op, const OpDef &same, const KernelRegistry::Bind &bind,
                             const BindContext &node) {
  size_t inputs = countSharedInputs(op, node);
  size_t outputs = std::min(same.outputs().size(), node.outputTypes.size());
  BoundKernel bound =
      TREADLE_TRY(bind({node.node, same.name(), node.attrs, node.inputTypes.first(inputs),
                        node.outputTypes.first(outputs), node.device}));
  if (inputs == node.inputTypes.size() && outputs == node.outputTypes.size())
    return bound;
  BoundKernel outer = boundWith(runNarrowed, Narrowed{bound, inputs, outputs});
  outer.isExpensive = bound.isExpensive;
  return outer;
}

} // namespace

void addOpAliases(KernelRegistry &kernels) {
  for (const OpDef &op : allOps()) {
    const OpDef *same = aliasedOp(op);
    const KernelRegistry::Bind *bind = same ? kernels.find(same->name()) : nullptr;
    if (bind && !kernels.find(op.name()))
      kernels.add(std::string(op.name()), [&op, same, bind = *bind](const BindContext &node) {
        return bindAs(op, *same, bind, node);
      });
  }
}

} // namespace treadle
