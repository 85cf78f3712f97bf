// Optionals: either nothing or a tuple of tensors, used by gradients of conditionals.
#include "treadle/kernels/lists/Optional.h"

#include "treadle/kernels/Element.h"

namespace treadle {
namespace {

void optionalFromValue(OpContext &ctx) {
  std::vector<Tensor> components;
  components.reserve(ctx.numInputs());
  for (int i = 0; i < ctx.numInputs(); ++i)
    components.push_back(ctx.takeInput(i));
  ctx.setOutput(0, makeVariant(makeRef<OptionalObject>(std::move(components))));
}

void optionalNone(OpContext &ctx) { ctx.setOutput(0, makeVariant(makeRef<OptionalObject>())); }

const OptionalObject *optionalInput(OpContext &ctx) {
  const auto *optional = variantIn<OptionalObject>(ctx.input(0));
  if (!optional)
    ctx.fail(invalidArgument("input 0 (", tensorTypeText(ctx.input(0)), ") is not an optional"));
  return optional;
}

void optionalHasValue(OpContext &ctx) {
  if (const OptionalObject *optional = optionalInput(ctx))
    ctx.setOutput(0, Tensor::scalar(DType::Bool, optional->hasValue));
}

struct GetState {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
};

void optionalGetValue(OpContext &ctx) {
  const auto &state = ctx.state<GetState>();
  const OptionalObject *optional = TREADLE_OR_RETURN(optionalInput(ctx));
  if (!optional->hasValue)
    return ctx.fail(invalidArgument("the optional is empty; check it with OptionalHasValue first"));
  const std::vector<Tensor> &components = optional->components;
  if (components.size() != state.dtypes.size())
    return ctx.fail(invalidArgument("the optional holds ", components.size(), " tensors, expected ",
                                    state.dtypes.size()));
  for (size_t i = 0; i < components.size(); ++i) {
    if (components[i].dtype() != state.dtypes[i] ||
        (i < state.shapes.size() && !state.shapes[i].accepts(components[i].dims())))
      return ctx.fail(invalidArgument(
          "component ", i, " of the optional is ", tensorTypeText(components[i]), ", expected ",
          dtypeName(state.dtypes[i]), i < state.shapes.size() ? state.shapes[i].text() : ""));
    ctx.setOutput(static_cast<int>(i), components[i]);
  }
}

Expected<BoundKernel> bindGetValue(const BindContext &node) {
  return boundWith(optionalGetValue,
                   GetState{{node.outputTypes.begin(), node.outputTypes.end()},
                            node.attrs.getOr("output_shapes", std::vector<PartialShape>())});
}

const KernelEntry optionalTable[] = {
    {"OptionalFromValue", bindPlain<optionalFromValue>},
    {"OptionalGetValue", bindGetValue},
    {"OptionalHasValue", bindPlain<optionalHasValue>},
    {"OptionalNone", bindPlain<optionalNone>},
};

} // namespace

std::span<const KernelEntry> optionalKernels() { return optionalTable; }

} // namespace treadle
