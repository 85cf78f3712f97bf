// The executors' side of an OpContext: what they set before a kernel is called, and take after it.
#pragma once

#include "treadle/runtime/Kernel.h"
#include "treadle/tensor/MemoryBudget.h"

#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace treadle {

/// One execution of one node. Every OpContext is one.
class Execution final : public OpContext {
public:
  static Execution &of(OpContext &ctx) { return static_cast<Execution &>(ctx); }

  using OpContext::bases; // values of this activation, constants of the plan
  using OpContext::boundState;
  using OpContext::error;
  using OpContext::executor; // null: an op that waits holds the thread
  using OpContext::inputCount;
  using OpContext::inputIndex; // as InputIndex says
  using OpContext::outputCount;
  using OpContext::outputs;
  using OpContext::runState;
  using OpContext::suspension;
};

/// The bytes of tensors, those of strings and handles aside.
inline int64_t bytesOf(std::span<const Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor &tensor : tensors)
    if (tensor && !tensor.isRef() && isPlain(tensor.dtype()))
      bytes += tensor.count() * static_cast<int64_t>(dtypeSize(tensor.dtype()));
  return bytes;
}

/// Calls a kernel. What memory can't hold is an error like any other: nothing is thrown through
/// code that a compiler of ours made, or past the node that it is the error of.
[[gnu::always_inline]] inline void callKernel(KernelFn fn, OpContext &ctx) {
  try {
    fn(ctx);
  } catch (const std::bad_alloc &thrown) {
    ctx.fail(memoryError(thrown));
  } catch (const std::length_error &) {
    ctx.fail(resourceExhausted("a size is beyond what memory can hold"));
  }
}

/// The same, and charges what it made.
[[gnu::always_inline]] inline void callCharged(KernelFn fn, OpContext &ctx) {
  callKernel(fn, ctx);
  std::span<const Tensor> outputs(Execution::of(ctx).outputs, Execution::of(ctx).outputCount);
  if (!holdTexts(outputs) || !MemoryBudget::opened()) [[likely]]
    return;
  if (Expected<void> charged = chargeTexts(outputs); !charged)
    ctx.fail(std::move(charged.error()));
}

/// A kernel that another one of the same node calls with inputs of its own making.
class InnerKernel {
public:
  InnerKernel(BoundKernel bound, size_t numInputs) : bound(std::move(bound)), indices(numInputs) {
    for (size_t i = 0; i < numInputs; ++i)
      indices[i] = static_cast<uint32_t>(i) | InputIndex::takeBit;
  }

  /// The inputs are the kernel's to take.
  void run(Execution &ctx, std::span<Tensor> inputs) const {
    const void *outer = std::exchange(ctx.boundState, bound.state.get());
    const Tensor *base = std::exchange(ctx.bases[0], inputs.data());
    const uint32_t *index = std::exchange(ctx.inputIndex, indices.data());
    bound.fn(ctx);
    ctx.bases[0] = base;
    ctx.inputIndex = index;
    ctx.boundState = outer;
  }

private:
  BoundKernel bound;
  std::vector<uint32_t> indices;
};

} // namespace treadle
