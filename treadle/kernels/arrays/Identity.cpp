// Ops that hand a tensor on as it is, or do nothing at all.
#include "treadle/kernels/Element.h"
#include "treadle/runtime/Choice.h"

#include <algorithm>

namespace treadle {
namespace {

void identity(OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }

void identityN(OpContext &ctx) {
  for (int i = 0; i < ctx.numInputs(); ++i)
    ctx.setOutput(i, ctx.takeInput(i));
}

// The lists of _ArrayToList and _ListToArray are stated twice.
Expected<BoundKernel> bindIdentityN(const BindContext &node) {
  if (!std::ranges::equal(node.inputTypes, node.outputTypes))
    return Unexpected(invalidArgument("its outputs aren't of the dtypes of its ",
                                      node.inputTypes.size(), " inputs, one each"));
  return BoundKernel{identityN};
}

void doNothing(OpContext &) {}

// A resource or variant can't be copied deeply: such tensors share what they hold.
void deepCopy(OpContext &ctx) {
  if (auto copy = ctx.check(ctx.input(0).clone()))
    ctx.setOutput(0, std::move(*copy));
}

void ensureShape(OpContext &ctx) {
  const auto &shape = ctx.state<PartialShape>();
  if (!shape.accepts(ctx.input(0).dims()))
    return ctx.fail(invalidArgument("input has shape ", dimsText(ctx.input(0).dims()),
                                    ", expected ", shape.text()));
  ctx.setOutput(0, ctx.takeInput(0));
}

Expected<BoundKernel> bindEnsureShape(const BindContext &node) {
  return node.attrs.get<PartialShape>("shape").map(
      [](PartialShape shape) { return boundWith(ensureShape, std::move(shape)); });
}

void placeholder(OpContext &ctx) { ctx.fail(missingInput(ctx.state<std::string>())); }

Expected<BoundKernel> bindPlaceholder(const BindContext &node) {
  std::string shape = node.attrs.getOr("shape", PartialShape()).text();
  std::string_view dtype = node.outputTypes.empty() ? "?" : dtypeName(node.outputTypes[0]);
  return boundWith(placeholder, str("placeholder '", node.node, "' has no value; feed a ", dtype,
                                    " of shape ", shape));
}

void loopCond(OpContext &ctx) {
  if (ctx.check(asPredicate(ctx.input(0))))
    ctx.setOutput(0, ctx.takeInput(0));
}

// PreventGradient is an identity when it runs: its message is for whoever builds gradients.

void deviceIndex(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar(DType::Int32, ctx.state<int32_t>()));
}

// Everything runs on the CPU: its position among the names, or their number where it isn't there.
Expected<BoundKernel> bindDeviceIndex(const BindContext &node) {
  auto names = TREADLE_TRY(node.attrs.get<std::vector<std::string>>("device_names"));
  auto position = std::ranges::find(names, "CPU") - names.begin();
  return boundWith(deviceIndex, static_cast<int32_t>(position));
}

// What Copy and the DebugIdentities hand to a debugger isn't handed to anybody.
Expected<BoundKernel> bindDebugIdentity(const BindContext &node) {
  if (auto urls = node.attrs.getOr("debug_urls", std::vector<std::string>()); !urls.empty())
    return Unexpected(unimplemented("dumps of tensors (to '", urls[0],
                                    "') are not written; remove the attribute 'debug_urls'"));
  return bindPlain<identity>(node);
}

// A library never ends its process: the run ends instead.
Expected<BoundKernel> bindAbort(const BindContext &node) {
  return boundWith<std::string>(
      [](OpContext &ctx) {
        ctx.fail(aborted("the graph ends itself: ", ctx.state<std::string>()));
      },
      node.attrs.getOr("error_msg", std::string()));
}

const KernelEntry passTable[] = {
    {"Abort", bindAbort},
    {"ControlTrigger", bindPlain<doNothing>},
    {"Copy", bindPlain<identity>},
    {"CopyHost", bindPlain<identity>},
    {"DebugGradientIdentity", bindPlain<identity>},
    {"DebugIdentity", bindDebugIdentity},
    {"DebugIdentityV2", bindDebugIdentity},
    {"DebugIdentityV3", bindDebugIdentity},
    {"DeepCopy", bindPlain<deepCopy>},
    {"DeviceIndex", bindDeviceIndex},
    {"EnsureShape", bindEnsureShape},
    {"GuaranteeConst", bindPlain<identity>},
    {"Identity", bindPlain<identity>},
    {"IdentityN", bindIdentityN},
    {"LoopCond", bindPlain<loopCond>},
    {"NoOp", bindPlain<doNothing>},
    {"Placeholder", bindPlaceholder},
    {"PlaceholderV2", bindPlaceholder},
    {"PlaceholderWithDefault", bindPlain<identity>},
    {"PreventGradient", bindPlain<identity>},
    {"Snapshot", bindPlain<identity>},
    {"StopGradient", bindPlain<identity>},
    {"_ArrayToList", bindIdentityN},
    {"_ListToArray", bindIdentityN},
};

} // namespace

std::span<const KernelEntry> identityKernels() { return passTable; }

} // namespace treadle
