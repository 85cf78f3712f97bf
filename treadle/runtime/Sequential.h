// Internal to the runtime: the slots of sequential plans.
//
// A call of a plan has a *frame*: an array of slots on a stack of the thread. Inputs are read in
// place and moved out at their last use, so that a buffer can be reused as soon as it has no other
// use. Calls, conditionals and loops are kernels that push a frame.
#pragma once

#include "treadle/runtime/SequentialPlan.h"

namespace treadle {

/// The slots of the calls in progress on this thread: a bump allocator in chunks. Slots are empty
/// when allocated.
class FrameStack {
public:
  static FrameStack &ofThisThread();
  Tensor *push(uint32_t count);
  /// Frees the newest frame, whose slots must be empty.
  void pop(uint32_t count);
  ~FrameStack();

private:
  struct Chunk {
    Tensor *slots;
    uint32_t capacity, used;
  };
  std::vector<Chunk> chunks;
};

/// A scope that pushes a frame and pops it, clearing slots that an error left filled.
class SlotFrame {
public:
  explicit SlotFrame(uint32_t count)
      : slots(FrameStack::ofThisThread().push(count)), count(count) {}
  SlotFrame(const SlotFrame &) = delete;
  SlotFrame &operator=(const SlotFrame &) = delete;
  ~SlotFrame() {
    for (uint32_t i = 0; i < count; ++i)
      slots[i].reset();
    FrameStack::ofThisThread().pop(count);
  }
  Tensor *const slots;
  const uint32_t count;
};

} // namespace treadle
