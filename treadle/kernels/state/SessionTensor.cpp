// Session tensors, which a session keeps between runs under string handles, and ops on resource
// handles.
#include "treadle/kernels/Handles.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <algorithm>
#include <map>

namespace treadle {
namespace {

// --- session tensors ---------------------------------------------------------------------------

/// The tensors of a session. Thread-safe.
class SessionTensors final : public Resource {
public:
  static constexpr std::string_view kindName = "tensors of a session";
  std::string_view kind() const override { return kindName; }

  static Ref<SessionTensors> of(OpContext &ctx) {
    return ctx.run().resources.lookupOrCreate<SessionTensors>(
        "", "", [] { return makeRef<SessionTensors>(); });
  }
  /// Stores a tensor and returns its handle.
  std::string keep(Tensor value, std::string_view node) {
    std::lock_guard lock(mutex);
    std::string handle = str("GetSessionHandle;", node, ";", ++count);
    kept.insert_or_assign(BudgetedString(handle, share), std::move(value));
    return handle;
  }
  Expected<Tensor> find(const std::string &handle) {
    std::lock_guard lock(mutex);
    auto entry = kept.find(std::string_view(handle));
    if (entry == kept.end())
      return Unexpected(invalidArgument("the session has no tensor with the handle '", handle,
                                        "', expected a handle from GetSessionHandle"));
    return entry->second;
  }
  void forget(const std::string &handle) {
    std::lock_guard lock(mutex);
    if (auto entry = kept.find(std::string_view(handle)); entry != kept.end())
      kept.erase(entry);
  }

private:
  const MemoryShare share;
  std::mutex mutex;
  std::map<BudgetedString, Tensor, std::less<>,
           BudgetedAllocator<std::pair<const BudgetedString, Tensor>>>
      kept{share};
  uint64_t count = 0;
};

void keep(OpContext &ctx) {
  ctx.setOutput(0, Tensor::scalarString(
                       SessionTensors::of(ctx)->keep(ctx.input(0), ctx.state<std::string>())));
}

Expected<BoundKernel> bindKeep(const BindContext &node) {
  return boundWith(keep, std::string(node.node));
}

const std::string *textHandle(OpContext &ctx) {
  if (ctx.input(0).count() == 1)
    return ctx.input(0).data<std::string>();
  ctx.fail(invalidArgument("the handle is ", tensorTypeText(ctx.input(0)), ", expected a scalar"));
  return nullptr;
}

void get(OpContext &ctx) {
  const std::string *handle = textHandle(ctx);
  auto value = handle ? ctx.check(SessionTensors::of(ctx)->find(*handle)) : std::nullopt;
  if (!value)
    return;
  if (value->dtype() != ctx.state<DType>())
    return ctx.fail(invalidArgument("the tensor of the handle is ", tensorTypeText(*value),
                                    ", expected ", dtypeName(ctx.state<DType>())));
  ctx.setOutput(0, std::move(*value));
}

Expected<BoundKernel> bindGet(const BindContext &node) {
  return boundWith(get, node.outputTypes[0]);
}

void forget(OpContext &ctx) {
  if (const std::string *handle = textHandle(ctx))
    SessionTensors::of(ctx)->forget(*handle);
}

// --- resource handles --------------------------------------------------------------------------

class Stub final : public Resource {
public:
  static constexpr std::string_view kindName = "stub";
  std::string_view kind() const override { return kindName; }
};

void makeStub(OpContext &ctx) {
  const auto &name = ctx.state<ResourceName>();
  ctx.setOutput(0, makeHandle(ctx.run().resources.lookupOrCreate<Stub>(
                       name.container, name.name, [] { return makeRef<Stub>(); })));
}

Expected<BoundKernel> bindStub(const BindContext &node) {
  return boundWith(makeStub, ResourceName::ofOrNode(node));
}

// Counts references: objects with a name live as long as the session, others as long as their
// handles.
void countsReferences(OpContext &ctx) {
  Resource *resource = TREADLE_OR_RETURN(resourceInput(ctx, 0));
  bool isNamed = std::ranges::any_of(
      ctx.run().resources.all(), [&](const auto &entry) { return entry.second.get() == resource; });
  ctx.setOutput(0, Tensor::scalar(DType::Bool, !isNamed));
}

// Handles always keep their object alive, so a weak handle is an ordinary one.
void weak(OpContext &ctx) { ctx.setOutput(0, ctx.input(0)); }

const KernelEntry sessionTensorTable[] = {
    {"DeleteSessionTensor", bindPlain<forget>},
    {"GetSessionHandle", bindKeep},
    {"GetSessionTensor", bindGet},
    {"IsResourceHandleRefCounting", bindPlain<countsReferences>},
    {"MakeWeakResourceHandle", bindPlain<weak>},
    {"StubResourceHandleOp", bindStub},
};

} // namespace

std::span<const KernelEntry> sessionTensorKernels() { return sessionTensorTable; }

} // namespace treadle
