// Variables by resource handle, and ops that work on both kinds of variables.
#include "treadle/kernels/state/Variables.h"

#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Update.h"

#include <algorithm>

namespace treadle {

static Expected<Ref<Variable>> lookUpVariable(ResourceManager &resources,
                                              const NamedVariable &named) {
  Ref<Variable> variable =
      resources.lookupOrCreate<Variable>(named.name.container, named.name.name, [&] {
        return makeRef<Variable>(named.name.name, named.dtype);
      });
  if (variable->dtype != named.dtype)
    return Unexpected(invalidArgument("variable '", named.name.name, "' is ",
                                      dtypeName(variable->dtype), ", expected ",
                                      dtypeName(named.dtype)));
  return variable;
}

void outputNamedVariable(OpContext &ctx, const NamedVariable &named,
                         Tensor (*wrap)(Ref<Variable>)) {
  ResourceManager &resources = ctx.run().resources;
  Tensor wrapped = named.cached.get(resources, [&] {
    auto found = ctx.check(lookUpVariable(resources, named));
    return found ? wrap(std::move(*found)) : Tensor();
  });
  if (wrapped)
    ctx.setOutput(0, std::move(wrapped));
}

// --- access to variables -----------------------------------------------------------------------

Variable *variableInput(OpContext &ctx, int i) {
  const Tensor &in = ctx.input(i);
  if (in.isRef())
    return &refVariable(in);
  return resourceInput<Variable>(ctx, i);
}

Error uninitializedError(const Variable &variable, bool isRef) {
  if (isRef)
    return failedPrecondition(
        "variable '", variable.name,
        "' is uninitialized; run its Assign or the graph's initializer first");
  return notFound("variable '", variable.name,
                  "' has no value: it was never assigned, or was destroyed");
}

Tensor readVariable(OpContext &ctx, int i) {
  Variable *variable = variableInput(ctx, i);
  if (!variable)
    return {};
  Tensor value = variable->read();
  if (!value)
    ctx.fail(uninitializedError(*variable, ctx.input(i).isRef()));
  return value;
}

VariableWriter::VariableWriter(OpContext &ctx, int i) {
  Variable *found = TREADLE_OR_RETURN(variableInput(ctx, i));
  isReference = ctx.input(i).isRef();
  lock = std::unique_lock(found->mutex);
  found->willWrite();
  if (found->value)
    variable = found;
  else
    ctx.fail(uninitializedError(*found, ctx.input(i).isRef()));
}

Tensor *VariableWriter::writable(OpContext &ctx) {
  if (!isWritable()) {
    auto copy = ctx.check(value().clone());
    if (!copy)
      return nullptr;
    replace(std::move(*copy));
  }
  return &variable->value;
}

namespace {

// --- handles -----------------------------------------------------------------------------------

Tensor handleOf(Ref<Variable> variable) { return makeHandle(std::move(variable)); }

void varHandle(OpContext &ctx) {
  const auto &state = ctx.state<NamedVariable>();
  if (state.name.name == Variable::anonymousName)
    return ctx.setOutput(0, makeHandle(makeRef<Variable>(state.name.name, state.dtype)));
  outputNamedVariable(ctx, state, handleOf);
}

Expected<BoundKernel> bindVarHandle(const BindContext &node) {
  return node.attrs.get<DType>("dtype").map([&](DType dtype) {
    return boundWith(varHandle, NamedVariable{ResourceName::of(node), dtype, {}});
  });
}

void destroyResource(OpContext &ctx) {
  bool ignoreLookupError = ctx.state<bool>();
  const Tensor &handle = ctx.input(0);
  Resource *resource =
      handle.count() == 1 ? handle.data<ResourceHandle>()->resource.get() : nullptr;
  bool isGone = !resource;
  if (resource && resource->kind() == Variable::kindName) {
    auto *variable = static_cast<Variable *>(resource);
    isGone = !variable->read();
    variable->assign({});
  }
  bool wasNamed = resource && ctx.run().resources.remove(resource);
  if (isGone && !wasNamed && !ignoreLookupError)
    ctx.fail(notFound("the resource to destroy does not exist"));
}

Expected<BoundKernel> bindDestroyResource(const BindContext &node) {
  return boundWith(destroyResource, node.attrs.getOr("ignore_lookup_error", true));
}

// --- reads and assignment ----------------------------------------------------------------------

void readInto(OpContext &ctx, int input, int output, DType wanted) {
  auto *variable = TREADLE_OR_RETURN(resourceInput<Variable>(ctx, input));
  if (variable->dtype != wanted)
    return ctx.fail(invalidArgument("variable '", variable->name, "' is ",
                                    dtypeName(variable->dtype), ", but is read as ",
                                    dtypeName(wanted)));
  Tensor value = variable->read();
  if (!value)
    return ctx.fail(failedPrecondition("variable '", variable->name,
                                       "' has no value: it was never assigned, or was destroyed"));
  ctx.setOutput(output, std::move(value));
}

void readVariableOp(OpContext &ctx) { readInto(ctx, 0, 0, ctx.state<DType>()); }

Expected<BoundKernel> bindRead(const BindContext &node) {
  return boundWith(readVariableOp, node.outputTypes[0]);
}

void readVariables(OpContext &ctx) {
  const auto &dtypes = ctx.state<std::vector<DType>>();
  for (int i = 0; i < ctx.numOutputs() && !ctx.hasFailed(); ++i)
    readInto(ctx, i, i, dtypes[i]);
}

Expected<BoundKernel> bindReadMany(const BindContext &node) {
  if (node.inputTypes.size() != node.outputTypes.size())
    return Unexpected(invalidArgument("N is ", node.inputTypes.size(), ", but dtypes has ",
                                      node.outputTypes.size(), " types"));
  return boundWith(readVariables,
                   std::vector<DType>(node.outputTypes.begin(), node.outputTypes.end()));
}

void varIsInitialized(OpContext &ctx) {
  Variable *variable = variableOfHandle(ctx.input(0));
  bool isInitialized = variable && static_cast<bool>(variable->read());
  ctx.setOutput(0, Tensor::scalar(DType::Bool, isInitialized));
}

void assignVariable(OpContext &ctx) {
  auto *variable = TREADLE_OR_RETURN(resourceInput<Variable>(ctx, 0));
  const Tensor &value = ctx.input(1);
  if (variable->dtype != value.dtype())
    return ctx.fail(invalidArgument("variable '", variable->name, "' is ",
                                    dtypeName(variable->dtype), ", but is assigned ",
                                    tensorTypeText(value)));
  if (ctx.state<bool>()) {
    Tensor old = variable->read();
    if (old && !std::ranges::equal(old.dims(), value.dims()))
      return ctx.fail(invalidArgument("variable '", variable->name, "' has shape ",
                                      dimsText(old.dims()), ", but is assigned ",
                                      tensorTypeText(value)));
  }
  variable->assign(ctx.takeInput(1));
}

Expected<BoundKernel> bindAssign(const BindContext &node) {
  return boundWith(assignVariable, node.attrs.getOr("validate_shape", false));
}

void variableShape(OpContext &ctx) {
  Tensor value = readVariable(ctx, 0);
  if (!value)
    return;
  DType dtype = ctx.state<DType>();
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, {value.rank()}));
  if (dtype == DType::Int64)
    std::ranges::copy(value.dims(), out->data<int64_t>());
  else
    std::ranges::copy(value.dims(), out->data<int32_t>());
}

Expected<BoundKernel> bindVariableShape(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  if (dtype != DType::Int32 && dtype != DType::Int64)
    return unsupportedDType(node, dtype);
  return boundWith(variableShape, dtype);
}

// --- updates -----------------------------------------------------------------------------------

bool checkSameShape(OpContext &ctx, const Variable &variable, const Tensor &value) {
  if (variable.dtype == value.dtype() && std::ranges::equal(variable.value.dims(), value.dims()))
    return true;
  ctx.fail(invalidArgument("variable '", variable.name, "' is ", tensorTypeText(variable.value),
                           ", but is updated with ", tensorTypeText(value),
                           "; expected the same shape and dtype"));
  return false;
}

// Updates in place if the variable is the only owner of its elements, else into the operand's
// buffer or a new one.
void updateVariable(OpContext &ctx) {
  VariableWriter writer(ctx, 0);
  if (!writer.isOpen() || !checkSameShape(ctx, writer.get(), ctx.input(1)))
    return;
  UpdateLoop loop = ctx.state<UpdateLoop>();
  const Tensor &old = writer.value();
  const void *operand = ctx.input(1).raw();
  if (writer.isWritable()) {
    loop(writer.get().value.raw(), old.raw(), operand, true, old.count());
    return;
  }
  Tensor fresh;
  if (ctx.canReuseInput(1)) {
    fresh = ctx.takeInput(1);
  } else {
    auto made = TREADLE_OR_RETURN(ctx.check(Tensor::make(old.dtype(), old.dims())));
    fresh = std::move(made);
  }
  loop(fresh.raw(), old.raw(), operand, true, old.count());
  writer.replace(std::move(fresh));
}

void addVariantsToVariable(OpContext &ctx) {
  VariableWriter writer(ctx, 0);
  if (!writer.isOpen())
    return;
  if (auto sum = ctx.check(addTensors(writer.value(), ctx.input(1))))
    writer.replace(std::move(*sum));
}

template <KernelFn after> void updateThen(OpContext &ctx) {
  updateVariable(ctx);
  after(ctx);
}

template <Update update> Expected<BoundKernel> bindUpdate(const BindContext &node) {
  DType dtype = node.inputTypes[1];
  if (dtype == DType::Variant && update == Update::Add)
    return BoundKernel{addVariantsToVariable};
  UpdateLoop loop = updateLoop(update, dtype);
  if (!loop)
    return unsupportedDType(node, dtype);
  return boundWith(updateVariable, loop);
}

// The v1 form returns the reference.
template <Update update> Expected<BoundKernel> bindRefUpdate(const BindContext &node) {
  return bindUpdate<update>(node).map([](BoundKernel bound) {
    bound.fn = updateThen<passReference>;
    return takingRefs(std::move(bound));
  });
}

// --- counters ----------------------------------------------------------------------------------

template <typename T> void countUpTo(OpContext &ctx) {
  VariableWriter writer(ctx, 0);
  if (!writer.isOpen())
    return;
  const Tensor &value = writer.value();
  if (!value.isScalar() || value.dtype() != dtypeOf<T>)
    return ctx.fail(invalidArgument("variable '", writer.get().name, "' is ", tensorTypeText(value),
                                    ", expected a scalar ", dtypeName(dtypeOf<T>)));
  T before = value.scalarValue<T>();
  if (before >= ctx.state<int64_t>())
    return ctx.fail(outOfRange("reached limit of ", ctx.state<int64_t>()));
  writer.replace(Tensor::scalar<T>(dtypeOf<T>, before + 1));
  ctx.setOutput(0, Tensor::scalar<T>(dtypeOf<T>, before));
}

Expected<BoundKernel> bindCountUpTo(const BindContext &node) {
  auto limit = TREADLE_TRY(node.attrs.get<int64_t>("limit"));
  switch (node.outputTypes[0]) {
  case DType::Int32:
    return takingRefs(boundWith(countUpTo<int32_t>, limit));
  case DType::Int64:
    return takingRefs(boundWith(countUpTo<int64_t>, limit));
  default:
    return unsupportedDType(node, node.outputTypes[0]);
  }
}

const KernelEntry variableTable[] = {
    {"AssignAdd", bindRefUpdate<Update::Add>},
    {"AssignAddVariableOp", bindUpdate<Update::Add>},
    {"AssignSub", bindRefUpdate<Update::Sub>},
    {"AssignSubVariableOp", bindUpdate<Update::Sub>},
    {"AssignVariableOp", bindAssign},
    {"CountUpTo", bindCountUpTo},
    {"DestroyResourceOp", bindDestroyResource},
    {"DisableCopyOnRead", bindPlain<[](OpContext &) {}>}, // reads never copy
    {"ReadVariableOp", bindRead},
    {"ResourceCountUpTo", bindCountUpTo},
    {"VarHandleOp", bindVarHandle},
    {"VarIsInitializedOp", bindPlain<varIsInitialized>},
    {"VariableShape", bindVariableShape},
    {"_ReadVariablesOp", bindReadMany},
};

} // namespace

std::span<const KernelEntry> variableKernels() { return variableTable; }

} // namespace treadle
