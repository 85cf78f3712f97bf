// Assert: fails the run with the given values if the condition is false.
#include "treadle/kernels/text/TensorText.h"

namespace treadle {
namespace {

void assertTrue(OpContext &ctx) {
  const Tensor &condition = ctx.input(0);
  if (!condition.isScalar())
    return ctx.fail(
        invalidArgument("the condition must be a scalar bool, found ", tensorTypeText(condition)));
  if (condition.scalarValue<bool>())
    return;
  std::string message = "assertion failed:";
  for (int i = 1; i < ctx.numInputs(); ++i)
    message += str(" [", flatText(ctx.input(i), ctx.state<int64_t>()), "]");
  ctx.fail(invalidArgument(message));
}

Expected<BoundKernel> bindAssert(const BindContext &node) {
  return boundWith(assertTrue, node.attrs.getOr<int64_t>("summarize", 3));
}

const KernelEntry assertTable[] = {
    {"Assert", bindAssert},
};

} // namespace

std::span<const KernelEntry> assertKernels() { return assertTable; }

} // namespace treadle
