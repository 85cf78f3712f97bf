// Internal to the runtime: the slots of sequential plans.
//
// A call of a plan is a *frame*: an array of slots on a stack of the thread. Inputs are read where
// they stand and moved out at their last use, and so a buffer is reused in place as soon as nobody
// else needs it. Calls, conditionals and loops are kernels that push a frame.
#pragma once

#include "treadle/runtime/SequentialPlan.h"

namespace treadle {

/// Slots for calls in progress on this thread: a bump allocator in chunks. Slots start empty.
class FrameStack {
public:
  static FrameStack &ofThisThread();
  Tensor *push(uint32_t count);
  /// Frees the newest frame; its slots must be empty.
  void pop(uint32_t count);
  ~FrameStack();

private:
  struct Chunk {
    Tensor *slots;
    uint32_t capacity, used;
  };
  std::vector<Chunk> chunks;
};

/// A frame that is popped, and emptied where an error left values in it, at the end of a scope.
class Frame {
public:
  explicit Frame(uint32_t count) : slots(FrameStack::ofThisThread().push(count)), count(count) {}
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;
  ~Frame() {
    for (uint32_t i = 0; i < count; ++i)
      slots[i].reset();
    FrameStack::ofThisThread().pop(count);
  }
  Tensor *const slots;
  const uint32_t count;
};

} // namespace treadle
