// The out-of-line parts of the kernel interface, and the kernel registry.
#include "treadle/runtime/Kernel.h"

#include "treadle/runtime/Cores.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/RunOp.h"
#include "treadle/runtime/ThreadPool.h"
#include "treadle/runtime/Variable.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

namespace treadle {

// --- OpContext ---------------------------------------------------------------------------------

Tensor *OpContext::makeOutput(int i, DType dtype, Dims dims) {
  Expected<Tensor> made = Tensor::make(dtype, dims);
  if (!made) {
    fail(std::move(made.error()));
    return nullptr;
  }
  outputs[i] = std::move(*made);
  return &outputs[i];
}

Tensor *OpContext::reuseInputOrAllocate(int in, int out, DType dtype, Dims dims) {
  const Tensor &candidate = input(in);
  if (isPlain(dtype) && canReuseInput(in) && isPlain(candidate.dtype()) &&
      dtypeSize(candidate.dtype()) == dtypeSize(dtype) &&
      std::ranges::equal(candidate.dims(), dims)) {
    Tensor taken = takeInput(in);
    taken.get()->dtype = dtype;
    outputs[out] = std::move(taken);
    return &outputs[out];
  }
  return makeOutput(out, dtype, dims);
}

std::span<const char> OpContext::nextWeights(NextWeights &own,
                                             std::span<const char> weights) const {
  return runState ? runState->nextWeights(own, weights) : std::span<const char>();
}

ThreadPool *OpContext::pool() const { return runState ? runState->pool : nullptr; }

int OpContext::caller() const { return runState ? runState->caller : threadNumber(); }

void OpContext::fail(Error e) {
  if (!error)
    error = std::make_unique<Error>(std::move(e));
}

void OpContext::parallelFor(int64_t total, double costPerItem,
                            const std::function<void(int64_t, int64_t)> &body) {
  constexpr double minRangeNanoseconds = 20000; // ns of work that justify a range
  ThreadPool *pool = runState ? runState->pool : nullptr;
  if (total <= 0)
    return;
  if (!pool || total * costPerItem < 2 * minRangeNanoseconds)
    return body(0, total);
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(minRangeNanoseconds / costPerItem));
  pool->parallelFor(total, grain, body);
}

bool Suspension::claim() { return !isClaimed.exchange(true, std::memory_order_acq_rel); }

// --- the registry ------------------------------------------------------------------------------

struct KernelRegistry::Impl {
  const KernelRegistry *parent;
  std::unordered_map<std::string, Bind> binds;
  std::unordered_map<std::string_view, const FunctionKernelEntry *> functionKernels = {};
};

KernelRegistry::KernelRegistry(const KernelRegistry *parent) : impl(new Impl{parent, {}}) {}
KernelRegistry::~KernelRegistry() = default;

void KernelRegistry::add(std::span<const KernelEntry> table) {
  impl->binds.reserve(impl->binds.size() + table.size());
  for (const KernelEntry &entry : table)
    impl->binds.insert_or_assign(std::string(entry.op), entry.bind);
}

void KernelRegistry::add(std::span<const FunctionKernelEntry> table) {
  for (const FunctionKernelEntry &entry : table)
    impl->functionKernels.insert_or_assign(entry.op, &entry);
}

void KernelRegistry::add(std::string op, Bind bind) {
  impl->binds.insert_or_assign(std::move(op), std::move(bind));
}

const KernelRegistry::Bind *KernelRegistry::find(std::string_view op) const {
  auto it = impl->binds.find(std::string(op));
  if (it != impl->binds.end())
    return &it->second;
  return impl->parent ? impl->parent->find(op) : nullptr;
}

const FunctionKernelEntry *KernelRegistry::findFunctionKernel(std::string_view op) const {
  auto it = impl->functionKernels.find(op);
  if (it != impl->functionKernels.end())
    return it->second;
  return impl->parent ? impl->parent->findFunctionKernel(op) : nullptr;
}

// --- single ops --------------------------------------------------------------------------------

namespace {

// Blocks the calling thread until the op completes; for single ops that run outside an executor.
class BlockingSuspension final : public Suspension {
public:
  void complete(std::vector<Tensor> values) override { finish(std::move(values), nullptr); }
  void fail(Error e) override { finish({}, std::make_unique<Error>(std::move(e))); }
  void wait() {
    WaitScope resting;
    std::unique_lock lock(mutex);
    done.wait(lock, [this] { return isDone; });
  }
  std::vector<Tensor> outputs;
  std::unique_ptr<Error> error;

private:
  void finish(std::vector<Tensor> values, std::unique_ptr<Error> e) {
    std::lock_guard lock(mutex);
    outputs = std::move(values);
    error = std::move(e);
    isDone = true;
    done.notify_all();
  }
  std::mutex mutex;
  std::condition_variable done;
  bool isDone = false;
};

} // namespace

Ref<Suspension> OpContext::suspend() {
  if (executor)
    suspension = executor->suspend(*this);
  else
    suspension = makeRef<BlockingSuspension>();
  return suspension;
}

void finishSuspended(OpContext &context) {
  Execution &ctx = Execution::of(context);
  if (!ctx.suspension)
    return;
  Ref<Suspension> base = std::exchange(ctx.suspension, nullptr);
  auto *suspension = static_cast<BlockingSuspension *>(base.get());
  RunState &run = *ctx.runState;
  int waker = run.onStop([base, &run] {
    if (base->claim())
      Ref<Suspension>(base)->fail(run.stopReason());
  });
  suspension->wait();
  run.forget(waker);
  if (suspension->error)
    return ctx.fail(std::move(*suspension->error));
  for (size_t i = 0; i < suspension->outputs.size() && i < ctx.outputCount; ++i)
    ctx.outputs[i] = std::move(suspension->outputs[i]);
}

namespace {

/// Runs an op with a kernel entry. Returns Unimplemented if `bind` is null.
template <typename Bind>
Expected<std::vector<Tensor>> runWithBinding(const Bind *bind, std::string_view op,
                                             const AttrMap &attrs, std::vector<Tensor> inputs,
                                             std::vector<DType> outputTypes,
                                             const FileAccess *files = nullptr) {
  if (!bind)
    return Unexpected(unimplemented("op '", op, "' has no kernel"));
  std::vector<DType> inputTypes;
  for (const Tensor &t : inputs)
    inputTypes.push_back(t.dtype());
  Expected<BoundKernel> kernel = (*bind)(BindContext{op, op, attrs, inputTypes, outputTypes});
  if (!kernel)
    return Unexpected(std::move(kernel.error()));

  ResourceManager resources;
  RunState run(resources, nullptr);
  run.files = files;
  std::vector<Tensor> outputs(outputTypes.size());
  std::vector<uint32_t> indices(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    indices[i] = static_cast<uint32_t>(i) | InputIndex::takeBit;
    if (inputs[i].isRef() && !kernel->takesRefs)
      inputs[i] = refVariable(inputs[i]).read();
  }
  Execution ctx;
  ctx.bases[0] = inputs.data();
  ctx.inputIndex = indices.data();
  ctx.outputs = outputs.data();
  ctx.inputCount = static_cast<uint32_t>(inputs.size());
  ctx.outputCount = static_cast<uint32_t>(outputs.size());
  ctx.boundState = kernel->state.get();
  ctx.runState = &run;
  callKernel(kernel->fn, ctx);
  finishSuspended(ctx);
  if (ctx.error)
    return Unexpected(std::move(*ctx.error));
  return outputs;
}

} // namespace

Expected<std::vector<Tensor>> runOp(const KernelRegistry &registry, std::string_view op,
                                    const AttrMap &attrs, std::vector<Tensor> inputs,
                                    std::vector<DType> outputTypes) {
  return runWithBinding(registry.find(op), op, attrs, std::move(inputs), std::move(outputTypes));
}

Expected<std::vector<Tensor>> runOpWith(const FileAccess &files, const KernelRegistry &registry,
                                        std::string_view op, const AttrMap &attrs,
                                        std::vector<Tensor> inputs,
                                        std::vector<DType> outputTypes) {
  return runWithBinding(registry.find(op), op, attrs, std::move(inputs), std::move(outputTypes),
                        &files);
}

const KernelEntry *findKernel(std::initializer_list<KernelTable> families, std::string_view op) {
  for (KernelTable family : families) {
    std::span<const KernelEntry> table = family();
    if (auto found = std::ranges::find(table, op, &KernelEntry::op); found != table.end())
      return &*found;
  }
  return nullptr;
}

Expected<std::vector<Tensor>> runOp(std::initializer_list<KernelTable> families,
                                    std::string_view op, const AttrMap &attrs,
                                    std::vector<Tensor> inputs, std::vector<DType> outputTypes) {
  const KernelEntry *found = findKernel(families, op);
  return runWithBinding(found ? &found->bind : nullptr, op, attrs, std::move(inputs),
                        std::move(outputTypes));
}

} // namespace treadle
