// Mutexes: MutexLock returns a variant; the mutex is unlocked when the last reference to the
// variant goes.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/Variants.h"

#include <deque>
#include <mutex>

namespace treadle {
namespace {

/// A mutex for ops. Waiting ops lock it in FIFO order. Thread-safe.
class Mutex final : public Resource {
public:
  static constexpr std::string_view kindName = "mutex";
  std::string_view kind() const override { return kindName; }

  void lock(OpContext &ctx);
  void unlock();

private:
  std::mutex mutex;
  std::deque<Ref<Suspension>> waiting;
  bool isLocked = false;
};

class MutexLock final : public VariantObject {
public:
  static constexpr std::string_view kindName = "mutex lock";
  std::string_view kind() const override { return kindName; }

  explicit MutexLock(Ref<Mutex> locked) : locked(std::move(locked)) {}
  ~MutexLock() override { locked->unlock(); }

private:
  Ref<Mutex> locked;
};

Tensor makeLock(Mutex *mutex) { return makeVariant(makeRef<MutexLock>(Ref<Mutex>::share(mutex))); }

void Mutex::lock(OpContext &ctx) {
  {
    std::lock_guard guard(mutex);
    if (isLocked) {
      waiting.push_back(ctx.suspend());
      return;
    }
    isLocked = true;
  }
  ctx.setOutput(0, makeLock(this));
}

void Mutex::unlock() {
  Ref<Suspension> next;
  {
    std::lock_guard guard(mutex);
    while (!next && !waiting.empty()) {
      if (waiting.front()->claim()) // otherwise its run was stopped
        next = std::move(waiting.front());
      waiting.pop_front();
    }
    isLocked = static_cast<bool>(next);
  }
  if (next)
    next->complete({makeLock(this)});
}

struct MakeState {
  ResourceName resource;
  CachedHandle handle = {};
};

void makeMutex(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  ResourceManager &resources = ctx.run().resources;
  ctx.setOutput(0, state.handle.get(resources, [&] {
    return makeHandle(resources.lookupOrCreate<Mutex>(state.resource.container, state.resource.name,
                                                      [] { return makeRef<Mutex>(); }));
  }));
}

Expected<BoundKernel> bindMake(const BindContext &node) {
  return boundWith(makeMutex, MakeState{ResourceName::ofOrNode(node)});
}

void lock(OpContext &ctx) {
  if (auto *mutex = resourceInput<Mutex>(ctx, 0))
    mutex->lock(ctx);
}

Expected<BoundKernel> bindLock(const BindContext &) {
  return BoundKernel{.fn = lock, .mayBlock = true};
}

// Keeps the lock alive until this op runs.
void consume(OpContext &ctx) {
  Tensor lock = ctx.takeInput(0);
  if (!variantIn<MutexLock>(lock))
    ctx.fail(invalidArgument("input 0 (", tensorTypeText(lock), ") is not a mutex lock"));
}

const KernelEntry mutexTable[] = {
    {"ConsumeMutexLock", bindPlain<consume>},
    {"MutexLock", bindLock},
    {"MutexV2", bindMake},
};

} // namespace

std::span<const KernelEntry> mutexKernels() { return mutexTable; }

} // namespace treadle
