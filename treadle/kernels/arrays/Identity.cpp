// Ops that forward a tensor unchanged, or do nothing at all.
#include "treadle/kernels/Element.h"
#include "treadle/runtime/Conditions.h"

#include <algorithm>

namespace treadle {
namespace {

void identity(OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }

void identityN(OpContext &ctx) {
  for (int i = 0; i < ctx.numInputs(); ++i)
    ctx.setOutput(i, ctx.takeInput(i));
}

// _ArrayToList and _ListToArray state their type lists twice.
Expected<BoundKernel> bindIdentityN(const BindContext &node) {
  if (!std::ranges::equal(node.inputTypes, node.outputTypes))
    return Unexpected(invalidArgument("the output dtypes must be those of the ",
                                      node.inputTypes.size(), " inputs"));
  return BoundKernel{identityN};
}

void doNothing(OpContext &) {}

// Resources and variants can't be copied deeply: such tensors share their objects.
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
  if (ctx.check(switchPredicateOf(ctx.input(0))))
    ctx.setOutput(0, ctx.takeInput(0));
}

// PreventGradient is an identity at run time: its message is for gradient construction.

void deviceIndex(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalar(DType::Int32, ctx.state<int32_t>()));
}

// Returns the index of the CPU device in `device_names`, or the number of names if it isn't among
// them, since everything runs on the CPU.
Expected<BoundKernel> bindDeviceIndex(const BindContext &node) {
  auto names = TREADLE_TRY(node.attrs.get<std::vector<std::string>>("device_names"));
  auto position = std::ranges::find(names, "CPU") - names.begin();
  return boundWith(deviceIndex, static_cast<int32_t>(position));
}

// Copy and the DebugIdentity ops are identities: there is no debugger to send tensors to.
Expected<BoundKernel> bindDebugIdentity(const BindContext &node) {
  if (auto urls = node.attrs.getOr("debug_urls", std::vector<std::string>()); !urls.empty())
    return Unexpected(unimplemented("debug_urls contains '", urls[0],
                                    "', but tensor dumps are not supported; remove the attribute"));
  return bindPlain<identity>(node);
}

// A library must not end the process, so the run fails instead.
Expected<BoundKernel> bindAbort(const BindContext &node) {
  return boundWith<std::string>(
      [](OpContext &ctx) {
        ctx.fail(aborted("the graph aborted the run: ", ctx.state<std::string>()));
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
