// v1 variables, which pass references about: making them, assigning, and asking whether they have
// a value. Ops that add to either kind of variable stand in Variables.cpp.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/Move.h"
#include "treadle/kernels/Update.h"
#include "treadle/kernels/Variables.h"

#include <algorithm>

namespace treadle {
namespace {

// --- making ------------------------------------------------------------------------------------

struct VariableState {
  ResourceName name;
  DType dtype;
  CachedHandle cached;
};

Expected<Tensor> namedVariable(ResourceManager &resources, const VariableState &state) {
  Ref<Variable> variable =
      resources.lookupOrCreate<Variable>(state.name.container, state.name.name, [&] {
        return makeRef<Variable>(state.name.name, state.dtype);
      });
  if (variable->dtype != state.dtype)
    return Unexpected(invalidArgument("variable '", state.name.name, "' is ",
                                      dtypeName(variable->dtype), ", expected ",
                                      dtypeName(state.dtype)));
  return makeRefTensor(std::move(variable));
}

void variable(OpContext &ctx) {
  const auto &state = ctx.state<VariableState>();
  ResourceManager &resources = ctx.run().resources;
  Tensor reference = state.cached.get(resources, [&] {
    auto made = ctx.check(namedVariable(resources, state));
    return made ? std::move(*made) : Tensor();
  });
  if (reference)
    ctx.setOutput(0, std::move(reference));
}

Expected<BoundKernel> bindVariable(const BindContext &node) {
  ResourceName name = ResourceName::of(node);
  if (name.name.empty())
    name.name = node.node;
  return node.attrs.get<DType>("dtype").map(
      [&](DType dtype) { return boundWith(variable, VariableState{std::move(name), dtype, {}}); });
}

// --- temporary ones ----------------------------------------------------------------------------

struct TemporaryState {
  std::string name;
  DType dtype;
  std::vector<int64_t> dims;
};

// Has elements from the start, as in TensorFlow, where they are arbitrary; here they are zero.
void temporaryVariable(OpContext &ctx) {
  const auto &state = ctx.state<TemporaryState>();
  auto zeros = ctx.check(zerosOf(state.dtype, state.dims));
  if (!zeros)
    return;
  auto made = makeRef<Variable>(state.name, state.dtype);
  made->assign(std::move(*zeros));
  ctx.setOutput(0, makeRefTensor(std::move(made)));
}

Expected<BoundKernel> bindTemporary(const BindContext &node) {
  auto dtype = node.attrs.get<DType>("dtype");
  auto shape = node.attrs.get<PartialShape>("shape");
  if (!dtype || !shape)
    return Unexpected(!dtype ? std::move(dtype.error()) : std::move(shape.error()));
  if (!shape->isFullyKnown())
    return Unexpected(invalidArgument("attribute 'shape' is ", shape->text(),
                                      "; expected one without unknown dimensions"));
  std::string name = node.attrs.getOr("var_name", std::string());
  return boundWith(temporaryVariable, TemporaryState{name.empty() ? std::string(node.node) : name,
                                                     *dtype, shape->dims});
}

void destroyTemporary(OpContext &ctx) {
  Variable *variable = variableInput(ctx, 0);
  if (!variable)
    return;
  Tensor value;
  {
    std::lock_guard lock(variable->mutex);
    value = std::exchange(variable->value, {});
  }
  if (!value)
    return ctx.fail(notFound("temporary variable '", variable->name, "' was destroyed before"));
  ctx.setOutput(0, std::move(value));
}

// --- assigning ---------------------------------------------------------------------------------

// The input as a tensor whose elements nobody else has.
Tensor ownInput(OpContext &ctx, int i) {
  if (ctx.canReuseInput(i))
    return ctx.takeInput(i);
  auto copy = ctx.check(ctx.input(i).clone());
  return copy ? std::move(*copy) : Tensor();
}

// Writes into the elements that the variable has if there are as many: who read the variable before
// sees the new value, as in TensorFlow.
void assignElements(OpContext &ctx, Variable &variable, const Tensor &value) {
  std::unique_lock lock(variable.mutex);
  if (variable.value && variable.value.count() == value.count()) {
    copyElements(value.dtype(), variable.value.raw(), value.raw(), value.count());
    if (!std::ranges::equal(variable.value.dims(), value.dims()))
      variable.value = variable.value.withDims(value.dims());
    return;
  }
  lock.unlock();
  if (Tensor own = ownInput(ctx, 1))
    variable.assign(std::move(own));
}

void assign(OpContext &ctx) {
  Variable *variable = variableInput(ctx, 0);
  if (!variable)
    return;
  const Tensor &value = ctx.input(1);
  if (variable->dtype != value.dtype())
    return ctx.fail(invalidArgument("variable '", variable->name, "' is ",
                                    dtypeName(variable->dtype), ", but is assigned ",
                                    tensorTypeText(value)));
  if (ctx.state<bool>()) { // validate_shape
    Tensor old = variable->read();
    if (old && !std::ranges::equal(old.dims(), value.dims()))
      return ctx.fail(invalidArgument(
          "variable '", variable->name, "' has shape ", dimsText(old.dims()), ", but is assigned ",
          tensorTypeText(value), "; set validate_shape=false to change its shape"));
  }
  assignElements(ctx, *variable, value);
  passReference(ctx);
}

Expected<BoundKernel> bindAssign(const BindContext &node) {
  return takingRefs(boundWith(assign, node.attrs.getOr("validate_shape", true)));
}

void isInitialized(OpContext &ctx) {
  if (Variable *variable = variableInput(ctx, 0))
    ctx.setOutput(0, Tensor::scalar(DType::Bool, static_cast<bool>(variable->read())));
}

template <KernelFn fn> Expected<BoundKernel> bindTakingRefs(const BindContext &) {
  return takingRefs(BoundKernel{fn});
}

const KernelEntry table[] = {
    {"Assign", bindAssign},
    {"DestroyTemporaryVariable", bindTakingRefs<destroyTemporary>},
    {"IsVariableInitialized", bindTakingRefs<isInitialized>},
    {"RefIdentity", bindTakingRefs<passReference>},
    {"TemporaryVariable", bindTemporary},
    {"Variable", bindVariable},
    {"VariableV2", bindVariable},
};

} // namespace

std::span<const KernelEntry> refVariableKernels() { return table; }

} // namespace treadle
