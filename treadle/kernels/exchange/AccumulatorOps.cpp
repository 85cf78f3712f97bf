// Ops on dense and sparse gradient accumulators, by string references and by resource handles.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/exchange/Accumulator.h"

namespace treadle {
namespace {

// --- creation ----------------------------------------------------------------------------------

struct MakeState {
  AccumulatorTraits traits;
  ResourceName resource;
  DType handleDType;
  CachedHandle handle = {};
};

bool agree(const AccumulatorTraits &a, const AccumulatorTraits &b) {
  return a.dtype == b.dtype && a.isMean == b.isMean && a.isSparse == b.isSparse &&
         a.shape.hasRank == b.shape.hasRank && a.shape.dims == b.shape.dims;
}

void makeAccumulator(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  ResourceManager &resources = ctx.run().resources;
  Tensor handle = state.handle.get(resources, [&] {
    Ref<Accumulator> found =
        resources.lookupOrCreate<Accumulator>(state.resource.container, state.resource.name,
                                              [&] { return makeRef<Accumulator>(state.traits); });
    if (agree(found->traits, state.traits))
      return makeHandleFor(state.handleDType, state.handleDType == DType::String, std::move(found),
                           state.resource);
    ctx.fail(invalidArgument("the accumulator '", state.resource.name, "' has type ",
                             dtypeName(found->traits.dtype), found->traits.shape.text(),
                             " or uses another reduction than the op expects"));
    return Tensor();
  });
  if (handle)
    ctx.setOutput(0, std::move(handle));
}

template <bool isSparse> Expected<BoundKernel> bindMake(const BindContext &node) {
  auto dtype = TREADLE_TRY(node.attrs.get<DType>("dtype"));
  std::string reduction = node.attrs.getOr("reduction_type", std::string("MEAN"));
  if (reduction != "MEAN" && reduction != "SUM")
    return Unexpected(invalidArgument("reduction_type is '", reduction, "', expected MEAN or SUM"));
  ResourceName resource = ResourceName::ofOrNode(node);
  AccumulatorTraits traits{dtype, node.attrs.getOr("shape", PartialShape()), reduction == "MEAN",
                           isSparse};
  return boundWith(makeAccumulator,
                   MakeState{std::move(traits), std::move(resource), node.outputTypes[0]});
}

// --- access ------------------------------------------------------------------------------------

Accumulator *accumulatorInput(OpContext &ctx, bool isSparse, DType dtype) {
  auto *accumulator = resourceInput<Accumulator>(ctx, 0);
  if (!accumulator)
    return nullptr;
  const AccumulatorTraits &traits = accumulator->traits;
  if (traits.isSparse == isSparse && traits.dtype == dtype)
    return accumulator;
  ctx.fail(invalidArgument("the accumulator takes ", traits.isSparse ? "sparse " : "",
                           dtypeName(traits.dtype), " gradients, but the op's are ",
                           isSparse ? "sparse " : "", dtypeName(dtype)));
  return nullptr;
}

std::optional<int64_t> scalarInput(OpContext &ctx, int i, std::string_view what) {
  if (ctx.input(i).isScalar())
    return indexAt(ctx.input(i), 0);
  ctx.fail(invalidArgument(what, " must be a scalar, found ", tensorTypeText(ctx.input(i))));
  return std::nullopt;
}

// Inputs: handle, local step, and the parts of the gradient.
template <bool isSparse> void apply(OpContext &ctx) {
  constexpr int valueInput = isSparse ? 3 : 2;
  auto *accumulator = accumulatorInput(ctx, isSparse, ctx.input(valueInput).dtype());
  auto step = scalarInput(ctx, 1, "local_step");
  if (!accumulator || !step)
    return;
  std::vector<Tensor> gradient;
  for (int i = 2; i < ctx.numInputs(); ++i)
    gradient.push_back(ctx.takeInput(i));
  accumulator->apply(ctx, *step, std::move(gradient));
}

struct TakeState {
  DType dtype;
};

template <bool isSparse> void take(OpContext &ctx) {
  auto *accumulator = accumulatorInput(ctx, isSparse, ctx.state<TakeState>().dtype);
  auto required = scalarInput(ctx, 1, "num_required");
  if (!accumulator || !required)
    return;
  if (*required <= 0)
    return ctx.fail(invalidArgument("num_required is ", *required, ", expected one above zero"));
  accumulator->take(ctx, *required);
}

template <bool isSparse> Expected<BoundKernel> bindTake(const BindContext &node) {
  BoundKernel bound = boundWith(take<isSparse>, TakeState{node.outputTypes[isSparse ? 1 : 0]});
  bound.mayBlock = true;
  return bound;
}

void setGlobalStep(OpContext &ctx) {
  auto *accumulator = resourceInput<Accumulator>(ctx, 0);
  auto step = scalarInput(ctx, 1, "new_global_step");
  if (accumulator && step)
    accumulator->setGlobalStep(*step);
}

void numAccumulated(OpContext &ctx) {
  if (auto *accumulator = resourceInput<Accumulator>(ctx, 0))
    ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>(accumulator->count())));
}

const KernelEntry accumulatorTable[] = {
    {"AccumulatorApplyGradient", bindPlain<apply<false>>},
    {"AccumulatorNumAccumulated", bindPlain<numAccumulated>},
    {"AccumulatorSetGlobalStep", bindPlain<setGlobalStep>},
    {"AccumulatorTakeGradient", bindTake<false>},
    {"ConditionalAccumulator", bindMake<false>},
    {"ResourceAccumulatorApplyGradient", bindPlain<apply<false>>},
    {"ResourceAccumulatorNumAccumulated", bindPlain<numAccumulated>},
    {"ResourceAccumulatorSetGlobalStep", bindPlain<setGlobalStep>},
    {"ResourceAccumulatorTakeGradient", bindTake<false>},
    {"ResourceConditionalAccumulator", bindMake<false>},
    {"SparseAccumulatorApplyGradient", bindPlain<apply<true>>},
    {"SparseAccumulatorTakeGradient", bindTake<true>},
    {"SparseConditionalAccumulator", bindMake<true>},
};

} // namespace

std::span<const KernelEntry> accumulatorKernels() { return accumulatorTable; }

} // namespace treadle
