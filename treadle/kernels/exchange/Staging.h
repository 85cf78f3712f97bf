// Base class of staging areas: a line of ops that wait until they can complete.
#pragma once

#include "treadle/kernels/Handles.h"

#include <functional>
#include <list>

namespace treadle {

using StagingResult = Expected<std::vector<Tensor>>;

/// A pending op on an area: whether it can complete, and its completion, which returns the outputs.
struct PendingStaging {
  std::function<bool()> isReady;
  std::function<StagingResult()> act; // may throw std::bad_alloc
};

/// A staging area. Waiting ops are retried in FIFO order after each change. Thread-safe.
class StagingArea : public Resource {
public:
  /// Completes the op, or suspends it until it can complete.
  void submit(OpContext &ctx, PendingStaging turn);
  /// Acts at once, ahead of waiting ops.
  template <typename Act> auto now(Act act) {
    std::lock_guard lock(mutex);
    return act();
  }

private:
  struct Waiting {
    PendingStaging turn;
    Ref<Suspension> suspension;
  };
  struct Done {
    Ref<Suspension> suspension;
    StagingResult result;
  };
  std::vector<Done> advance();

  std::mutex mutex;
  std::list<Waiting> waiting;
};

/// Attributes that the ops of one area share.
struct StagingState {
  ResourceName resource;
  int64_t capacity;    // number of tuples; 0: unlimited
  int64_t memoryLimit; // bytes; 0: unlimited
  std::vector<DType> dtypes;

  static StagingState of(const BindContext &node);
};

template <KernelFn fn> Expected<BoundKernel> bindStaging(const BindContext &node) {
  BoundKernel bound = boundWith(fn, StagingState::of(node));
  bound.mayBlock = true;
  return bound;
}

/// Binds an op that never waits.
template <KernelFn fn> Expected<BoundKernel> bindStagingNow(const BindContext &node) {
  return boundWith(fn, StagingState::of(node));
}

template <typename Area> Ref<Area> stagingArea(OpContext &ctx) {
  const auto &state = ctx.state<StagingState>();
  return ctx.run().resources.lookupOrCreate<Area>(
      state.resource.container, state.resource.name,
      [&] { return makeRef<Area>(state.capacity, state.memoryLimit, state.dtypes); });
}

/// Returns the tuple if it has these dtypes, else an error.
StagingResult ofTypes(StagingResult tuple, std::span<const DType> dtypes);

/// Sets output 0 to a number.
inline void outputSize(OpContext &ctx, size_t size) {
  ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>(size)));
}

} // namespace treadle
