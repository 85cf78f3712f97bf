// Stacks, which keep values of v1 loops for their gradients: StackV2 and its predecessors.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Handles.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <mutex>
#include <vector>

namespace treadle {
namespace {

/// A stack of tensors. Thread-safe.
class Stack final : public Resource {
public:
  static constexpr std::string_view kindName = "stack";
  std::string_view kind() const override { return kindName; }

  Stack(DType dtype, int64_t limit) : dtype(dtype), limit(limit) {}
  const DType dtype;

  std::optional<Error> push(Tensor value) {
    std::lock_guard lock(mutex);
    if (isClosed)
      return closedError();
    if (limit >= 0 && static_cast<int64_t>(values.size()) >= limit)
      return invalidArgument("the stack is full: it has its maximum of ", limit, " elements");
    values.push_back(std::move(value));
    return std::nullopt;
  }
  Expected<Tensor> pop() {
    std::lock_guard lock(mutex);
    if (isClosed)
      return Unexpected(closedError());
    if (values.empty())
      return Unexpected(invalidArgument("the stack is empty: nothing to pop"));
    Tensor value = std::move(values.back());
    values.pop_back();
    return value;
  }
  void close() {
    BudgetedVector<Tensor> old(share); // freed after unlocking
    std::lock_guard lock(mutex);
    isClosed = true;
    old.swap(values);
  }

private:
  static Error closedError() { return invalidArgument("the stack was closed already"); }
  const MemoryShare share;
  std::mutex mutex;
  BudgetedVector<Tensor> values{share};
  const int64_t limit; // negative: unlimited
  bool isClosed = false;
};

struct MakeState {
  DType dtype, handleDType;
  bool isRef;
  bool takesLimit;
  std::string name;
};

void makeStack(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  int64_t limit = -1;
  if (state.takesLimit) {
    if (ctx.input(0).count() != 1)
      return ctx.fail(invalidArgument("the maximal size must be a scalar, found ",
                                      tensorTypeText(ctx.input(0))));
    limit = indexAt(ctx.input(0), 0);
  }
  ctx.setOutput(0, makeHandleFor(state.handleDType, state.isRef, makeRef<Stack>(state.dtype, limit),
                                 state.name));
}

Expected<BoundKernel> bindMake(const BindContext &node) {
  DType dtype = TREADLE_TRY(node.attrs.get<DType>("elem_type"));
  std::string name = node.attrs.getOr("stack_name", std::string());
  bool isNew = node.op == "StackV2";
  return boundWith(makeStack,
                   MakeState{.dtype = dtype,
                             .handleDType = isNew ? DType::Resource : DType::String,
                             .isRef = !isNew,
                             .takesLimit = isNew,
                             .name = name.empty() ? std::string(node.node) : std::move(name)});
}

void push(OpContext &ctx) {
  auto *stack = TREADLE_OR_RETURN(resourceInput<Stack>(ctx, 0));
  const Tensor &value = ctx.input(1);
  if (value.dtype() != stack->dtype)
    return ctx.fail(invalidArgument("the stack's elements are ", dtypeName(stack->dtype),
                                    ", but the value is ", tensorTypeText(value)));
  if (auto error = stack->push(value))
    return ctx.fail(std::move(*error));
  ctx.setOutput(0, ctx.takeInput(1));
}

void pop(OpContext &ctx) {
  auto *stack = TREADLE_OR_RETURN(resourceInput<Stack>(ctx, 0));
  if (stack->dtype != ctx.state<DType>())
    return ctx.fail(invalidArgument("the stack's elements are ", dtypeName(stack->dtype),
                                    ", but the op's are ", dtypeName(ctx.state<DType>())));
  if (auto value = ctx.check(stack->pop()))
    ctx.setOutput(0, std::move(*value));
}

Expected<BoundKernel> bindPop(const BindContext &node) {
  return boundWith(pop, node.outputTypes[0]);
}

void close(OpContext &ctx) {
  if (auto *stack = resourceInput<Stack>(ctx, 0))
    stack->close();
}

const KernelEntry stackTable[] = {
    {"Stack", bindMake},
    {"StackClose", bindPlain<close>},
    {"StackCloseV2", bindPlain<close>},
    {"StackPop", bindPop},
    {"StackPopV2", bindPop},
    {"StackPush", bindPlain<push>},
    {"StackPushV2", bindPlain<push>},
    {"StackV2", bindMake},
};

} // namespace

std::span<const KernelEntry> stackKernels() { return stackTable; }

} // namespace treadle
