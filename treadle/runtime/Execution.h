// The executors' side of an OpContext: the members that they set before a kernel call and read
// after it.
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
  using OpContext::executor; // null: a suspended op holds the thread
  using OpContext::inputCount;
  using OpContext::inputIndex; // encoded as in InputIndex
  using OpContext::outputCount;
  using OpContext::outputs;
  using OpContext::runState;
  using OpContext::suspension;
};

/// Total bytes of the tensors, without those of strings and handles.
inline int64_t bytesOf(std::span<const Tensor> tensors) {
  int64_t bytes = 0;
  for (const Tensor &tensor : tensors)
    if (tensor && !tensor.isRef() && isPlain(tensor.dtype()))
      bytes += tensor.count() * static_cast<int64_t>(dtypeSize(tensor.dtype()));
  return bytes;
}

/// Calls a kernel and turns std::bad_alloc into an error of its node. No exception may pass through
/// JIT-compiled code or leave the node that it belongs to.
[[gnu::always_inline]] inline void callKernel(KernelFn fn, OpContext &ctx) {
  try {
    fn(ctx);
  } catch (const std::bad_alloc &thrown) {
    ctx.fail(memoryError(thrown));
  } catch (const std::length_error &) {
    ctx.fail(resourceExhausted("a size exceeds the address space"));
  }
}

/// Like callKernel, and charges the memory of string outputs to the memory budget.
[[gnu::always_inline]] inline void callAndCharge(KernelFn fn, OpContext &ctx) {
  callKernel(fn, ctx);
  std::span<const Tensor> outputs(Execution::of(ctx).outputs, Execution::of(ctx).outputCount);
  if (!containStrings(outputs) || !MemoryBudget::opened()) [[likely]]
    return;
  if (Expected<void> charged = chargeStringMemory(outputs); !charged)
    ctx.fail(std::move(charged.error()));
}

/// A kernel that another kernel of the same node calls, with inputs that it makes.
class InnerKernel {
public:
  InnerKernel(BoundKernel bound, size_t numInputs) : bound(std::move(bound)), indices(numInputs) {
    for (size_t i = 0; i < numInputs; ++i)
      indices[i] = static_cast<uint32_t>(i) | InputIndex::takeBit;
  }

  /// The kernel may take the inputs.
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
