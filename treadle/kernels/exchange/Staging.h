// What staging areas have in common: ops that wait in a line until they can be done.
#pragma once

#include "treadle/kernels/Handles.h"

#include <functional>
#include <list>

namespace treadle {

using StagingResult = Expected<std::vector<Tensor>>;

/// An op on an area: whether it can be done now, and doing it, which gives its outputs.
struct StagingTurn {
  std::function<bool()> isReady;
  std::function<StagingResult()> act; // throws where memory ends
};

/// Thread-safe. Whoever waits is looked at, in order of coming, whenever something was done.
class StagingArea : public Resource {
public:
  /// Does it, or suspends the op until it can be done.
  void submit(OpContext &ctx, StagingTurn turn);
  /// At once, whoever waits.
  template <typename Act> auto now(Act act) {
    std::lock_guard lock(mutex);
    return act();
  }

private:
  struct Waiting {
    StagingTurn turn;
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

/// The attributes that the ops of one area share.
struct StagingState {
  ResourceName resource;
  int64_t capacity;    // entries; 0: any number
  int64_t memoryLimit; // bytes; 0: any number
  std::vector<DType> dtypes;

  static StagingState of(const BindContext &node);
};

template <KernelFn fn> Expected<BoundKernel> bindStaging(const BindContext &node) {
  BoundKernel bound = boundWith(fn, StagingState::of(node));
  bound.mayBlock = true;
  return bound;
}

/// An op that never waits.
template <KernelFn fn> Expected<BoundKernel> bindStagingNow(const BindContext &node) {
  return boundWith(fn, StagingState::of(node));
}

template <typename Area> Ref<Area> stagingArea(OpContext &ctx) {
  const auto &state = ctx.state<StagingState>();
  return ctx.run().resources.lookupOrCreate<Area>(
      state.resource.container, state.resource.name,
      [&] { return makeRef<Area>(state.capacity, state.memoryLimit, state.dtypes); });
}

/// These tensors, if they have the dtypes that the op gives.
StagingResult ofTypes(StagingResult tuple, std::span<const DType> dtypes);

/// Sets output 0 to a count.
inline void giveSize(OpContext &ctx, size_t size) {
  ctx.setOutput(0, Tensor::scalar(DType::Int32, static_cast<int32_t>(size)));
}

} // namespace treadle
