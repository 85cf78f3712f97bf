// Conditional accumulators: gradients are added up until enough have come, then taken as one. Those
// computed from values that are out of date are dropped.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/Move.h"
#include "treadle/kernels/Update.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace treadle {
namespace {

struct Traits {
  DType dtype = DType::Invalid;
  PartialShape shape;
  bool isMean = true;
  bool operator==(const Traits &o) const {
    return dtype == o.dtype && shape.hasRank == o.shape.hasRank && shape.dims == o.shape.dims &&
           isMean == o.isMean;
  }
};

/// Thread-safe. Ops that take wait in order.
class Accumulator final : public Resource {
public:
  static constexpr std::string_view kindName = "accumulator";
  std::string_view kind() const override { return kindName; }

  explicit Accumulator(Traits traits) : traits(std::move(traits)) {}
  const Traits traits;

  void apply(OpContext &ctx, int64_t localStep, Tensor gradient);
  void take(OpContext &ctx, int64_t required);
  void setGlobalStep(int64_t step) {
    std::lock_guard lock(mutex);
    globalStep = step;
  }
  int64_t count() const {
    std::lock_guard lock(mutex);
    return counter;
  }

private:
  struct Taker {
    Ref<Suspension> suspension;
    int64_t required;
    Expected<Tensor> result = Tensor();
  };

  std::optional<Error> add(Tensor gradient);
  Expected<Tensor> takeSum();

  mutable std::mutex mutex;
  Tensor sum;
  int64_t counter = 0, globalStep = 0;
  std::deque<Taker> waiting;
};

std::optional<Error> Accumulator::add(Tensor gradient) {
  if (!traits.shape.accepts(gradient.dims()))
    return invalidArgument("the gradient is ", tensorTypeText(gradient),
                           ", but the accumulator's shape is ", traits.shape.text());
  if (counter && !std::ranges::equal(sum.dims(), gradient.dims()))
    return invalidArgument("the gradient is ", tensorTypeText(gradient), ", but those before were ",
                           tensorTypeText(sum));
  if (counter) {
    Expected<Tensor> after = addTensors(std::move(sum), gradient);
    if (!after) {
      counter = 0; // what there was is lost with the memory
      return std::move(after.error());
    }
    gradient = std::move(*after);
  }
  sum = std::move(gradient);
  ++counter;
  return std::nullopt;
}

/// The sum or mean of what has come; then none has.
Expected<Tensor> Accumulator::takeSum() {
  ++globalStep;
  int64_t divisor = std::exchange(counter, 0);
  Tensor taken = std::exchange(sum, Tensor());
  if (!traits.isMean || divisor == 1)
    return taken;
  Expected<Tensor> out = Tensor::make(taken.dtype(), taken.dims());
  if (!out)
    return out;
  visitType(taken.dtype(), FloatTypes(), [&]<typename T>() {
    std::ranges::transform(taken.values<T>(), out->data<T>(), [&](T x) {
      return static_cast<T>(x / static_cast<T>(static_cast<float>(divisor)));
    });
  });
  return out;
}

void Accumulator::apply(OpContext &ctx, int64_t localStep, Tensor gradient) {
  std::vector<Taker> served;
  {
    std::lock_guard lock(mutex);
    if (localStep < globalStep)
      return;
    if (auto error = add(std::move(gradient)))
      return ctx.fail(std::move(*error));
    while (!waiting.empty() && counter >= waiting.front().required) {
      if (waiting.front().suspension->claim()) { // else its run was stopped
        waiting.front().result = takeSum();
        served.push_back(std::move(waiting.front()));
      }
      waiting.pop_front();
    }
  }
  for (Taker &taker : served) {
    if (taker.result)
      taker.suspension->complete({std::move(*taker.result)});
    else
      taker.suspension->fail(std::move(taker.result.error()));
  }
}

void Accumulator::take(OpContext &ctx, int64_t required) {
  std::lock_guard lock(mutex);
  while (!waiting.empty() && waiting.front().suspension->isUnique())
    waiting.pop_front(); // nobody else knows of it: its run is over
  if (counter < required || !waiting.empty()) {
    waiting.push_back({ctx.suspend(), required});
    return;
  }
  if (auto taken = ctx.check(takeSum()))
    ctx.setOutput(0, std::move(*taken));
}

// --- the ops -----------------------------------------------------------------------------------

struct MakeState {
  Traits traits;
  ResourceName resource;
  DType handleDType;
  CachedHandle handle = {};
};

void makeAccumulator(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  ResourceManager &resources = ctx.run().resources;
  bool isOther = false;
  Tensor handle = state.handle.get(resources, [&] {
    Ref<Accumulator> found =
        resources.lookupOrCreate<Accumulator>(state.resource.container, state.resource.name,
                                              [&] { return makeRef<Accumulator>(state.traits); });
    isOther = !(found->traits == state.traits);
    return isOther ? Tensor()
                   : makeHandleFor(state.handleDType, state.handleDType == DType::String,
                                   std::move(found), state.resource.name);
  });
  if (isOther)
    return ctx.fail(invalidArgument("the accumulator '", state.resource.name,
                                    "' has another dtype, shape or reduction"));
  ctx.setOutput(0, std::move(handle));
}

Expected<BoundKernel> bindMake(const BindContext &node) {
  Expected<DType> dtype = node.attrs.get<DType>("dtype");
  if (!dtype)
    return Unexpected(std::move(dtype.error()));
  if (!visitType(*dtype, FloatTypes(), []<typename T>() {}))
    return unsupportedDType(node, *dtype);
  std::string reduction = node.attrs.getOr("reduction_type", std::string("MEAN"));
  if (reduction != "MEAN" && reduction != "SUM")
    return Unexpected(invalidArgument("reduction_type is '", reduction, "', expected MEAN or SUM"));
  ResourceName name = ResourceName::of(node);
  if (name.name.empty())
    name.name = node.node;
  return boundWith(
      makeAccumulator,
      MakeState{.traits = {*dtype, node.attrs.getOr("shape", PartialShape()), reduction == "MEAN"},
                .resource = std::move(name),
                .handleDType = node.op.starts_with("Resource") ? DType::Resource : DType::String});
}

std::optional<int64_t> scalarInput(OpContext &ctx, int i, std::string_view what) {
  if (ctx.input(i).isScalar())
    return indexAt(ctx.input(i), 0);
  ctx.fail(invalidArgument(what, " must be a scalar, found ", tensorTypeText(ctx.input(i))));
  return std::nullopt;
}

Accumulator *accumulatorInput(OpContext &ctx, DType dtype) {
  auto *accumulator = resourceInput<Accumulator>(ctx, 0);
  if (!accumulator || accumulator->traits.dtype == dtype)
    return accumulator;
  ctx.fail(invalidArgument("the accumulator's gradients are ", dtypeName(accumulator->traits.dtype),
                           ", but the op's are ", dtypeName(dtype)));
  return nullptr;
}

void apply(OpContext &ctx) {
  auto *accumulator = accumulatorInput(ctx, ctx.input(2).dtype());
  auto step = scalarInput(ctx, 1, "local_step");
  if (accumulator && step)
    accumulator->apply(ctx, *step, ctx.takeInput(2));
}

void take(OpContext &ctx) {
  auto *accumulator = accumulatorInput(ctx, ctx.state<DType>());
  auto required = scalarInput(ctx, 1, "num_required");
  if (!accumulator || !required)
    return;
  if (*required <= 0)
    return ctx.fail(invalidArgument("num_required is ", *required, ", expected at least 1"));
  accumulator->take(ctx, *required);
}

Expected<BoundKernel> bindTake(const BindContext &node) {
  BoundKernel bound = boundWith(take, node.outputTypes[0]);
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

const KernelEntry table[] = {
    {"AccumulatorApplyGradient", bindPlain<apply>},
    {"AccumulatorNumAccumulated", bindPlain<numAccumulated>},
    {"AccumulatorSetGlobalStep", bindPlain<setGlobalStep>},
    {"AccumulatorTakeGradient", bindTake},
    {"ConditionalAccumulator", bindMake},
    {"ResourceAccumulatorApplyGradient", bindPlain<apply>},
    {"ResourceAccumulatorNumAccumulated", bindPlain<numAccumulated>},
    {"ResourceAccumulatorSetGlobalStep", bindPlain<setGlobalStep>},
    {"ResourceAccumulatorTakeGradient", bindTake},
    {"ResourceConditionalAccumulator", bindMake},
};

} // namespace

std::span<const KernelEntry> accumulatorKernels() { return table; }

} // namespace treadle
