// v1 variables, accessed by reference: creation, assignment and initialization checks.
// Variables.cpp has the ops that add to either kind of variable.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Update.h"
#include "treadle/kernels/state/Variables.h"

#include <algorithm>
#include <map>

namespace treadle {
namespace {

// --- creation ----------------------------------------------------------------------------------

Tensor referenceTo(Ref<Variable> variable) { return makeRefTensor(std::move(variable)); }

void variable(OpContext &ctx) { outputNamedVariable(ctx, ctx.state<NamedVariable>(), referenceTo); }

Expected<BoundKernel> bindVariable(const BindContext &node) {
  return node.attrs.get<DType>("dtype").map([&](DType dtype) {
    return boundWith(variable, NamedVariable{ResourceName::ofOrNode(node), dtype, {}});
  });
}

// --- temporary variables -----------------------------------------------------------------------

// The temporary variables of a session's runs that weren't destroyed yet, and the nodes that made
// them.
class TemporaryVariables final : public Resource {
public:
  static constexpr std::string_view kindName = "names of temporary variables";
  std::string_view kind() const override { return kindName; }

  static Ref<TemporaryVariables> of(OpContext &ctx) {
    return ctx.run().resources.lookupOrCreate<TemporaryVariables>(
        "", "", [] { return makeRef<TemporaryVariables>(); });
  }
  /// Returns false if another node of the run has a variable of that name. One node may have
  /// several: one for each iteration of a loop.
  bool add(uint64_t step, const std::string &name, const std::string &node) {
    std::lock_guard lock(mutex);
    return nodes.try_emplace({step, name}, node).first->second == node;
  }
  void remove(uint64_t step, const std::string &name) {
    std::lock_guard lock(mutex);
    nodes.erase({step, name});
  }

private:
  std::mutex mutex;
  std::map<std::pair<uint64_t, std::string>, std::string> nodes;
};

struct TemporaryState {
  std::string node, name;
  DType dtype;
  std::vector<int64_t> dims;
};

// Makes a variable with a value: zeros, where TensorFlow has arbitrary elements.
void temporaryVariable(OpContext &ctx) {
  const auto &state = ctx.state<TemporaryState>();
  auto zeros = TREADLE_OR_RETURN(ctx.check(zerosOf(state.dtype, state.dims)));
  if (!TemporaryVariables::of(ctx)->add(ctx.run().step, state.name, state.node))
    return ctx.fail(alreadyExists("temporary variable '", state.name,
                                  "' already exists; use a different var_name for each"));
  auto made = makeRef<Variable>(state.name, state.dtype);
  made->assign(std::move(zeros));
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
  std::string own(node.node), name = node.attrs.getOr("var_name", std::string());
  return boundWith(temporaryVariable,
                   TemporaryState{own, name.empty() ? own : name, *dtype, shape->dims});
}

void destroyTemporary(OpContext &ctx) {
  const auto &name = ctx.state<std::string>();
  Variable *variable = TREADLE_OR_RETURN(variableInput(ctx, 0));
  if (variable->name != name)
    return ctx.fail(notFound("there is no temporary variable '", name, "'; the input is '",
                             variable->name, "'"));
  TemporaryVariables::of(ctx)->remove(ctx.run().step, name);
  Tensor value;
  {
    std::lock_guard lock(variable->mutex);
    variable->willWrite();
    value = std::exchange(variable->value, {});
  }
  if (!value)
    return ctx.fail(notFound("temporary variable '", variable->name, "' was destroyed before"));
  ctx.setOutput(0, std::move(value));
}

Expected<BoundKernel> bindDestroyTemporary(const BindContext &node) {
  return node.attrs.get<std::string>("var_name").map([](std::string name) {
    return takingRefs(boundWith(destroyTemporary, std::move(name)));
  });
}

// --- assignment --------------------------------------------------------------------------------

// Returns the input with elements that nothing else refers to.
Tensor uniqueInput(OpContext &ctx, int i) {
  if (ctx.canReuseInput(i))
    return ctx.takeInput(i);
  auto copy = ctx.check(ctx.input(i).clone());
  return copy ? std::move(*copy) : Tensor();
}

// Writes in place if the number of elements is unchanged: earlier reads of the variable then see
// the new value, as in TensorFlow.
void assignElements(OpContext &ctx, Variable &variable, const Tensor &value) {
  std::unique_lock lock(variable.mutex);
  variable.willWrite();
  if (variable.value && variable.value.count() == value.count()) {
    copyElements(value.dtype(), variable.value.raw(), value.raw(), value.count());
    if (!std::ranges::equal(variable.value.dims(), value.dims()))
      variable.value = variable.value.withDims(value.dims());
    return;
  }
  lock.unlock();
  if (Tensor own = uniqueInput(ctx, 1))
    variable.assign(std::move(own));
}

void assign(OpContext &ctx) {
  Variable *variable = TREADLE_OR_RETURN(variableInput(ctx, 0));
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

// Inputs: index, references.
void selectReference(OpContext &ctx) {
  const Tensor &index = ctx.input(0);
  int64_t count = ctx.numInputs() - 1;
  int64_t i = index.isScalar() && !index.isRef() ? index.scalarValue<int32_t>() : -1;
  if (i < 0 || i >= count)
    return ctx.fail(invalidArgument("the index is ",
                                    index.isScalar() ? str(i) : tensorTypeText(index),
                                    ", expected a scalar in [0, ", count, ")"));
  ctx.setOutput(0, ctx.input(static_cast<int>(i) + 1));
}

template <KernelFn fn> Expected<BoundKernel> bindTakingRefs(const BindContext &) {
  return takingRefs(BoundKernel{fn});
}

const KernelEntry refVariableTable[] = {
    {"Assign", bindAssign},
    {"DebugGradientRefIdentity", bindTakingRefs<passReference>},
    {"DestroyTemporaryVariable", bindDestroyTemporary},
    {"IsVariableInitialized", bindTakingRefs<isInitialized>},
    {"RefIdentity", bindTakingRefs<passReference>},
    {"RefSelect", bindTakingRefs<selectReference>},
    {"TemporaryVariable", bindTemporary},
    {"Variable", bindVariable},
    {"VariableV2", bindVariable},
};

} // namespace

std::span<const KernelEntry> refVariableKernels() { return refVariableTable; }

} // namespace treadle
