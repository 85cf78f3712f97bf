#include "treadle/codegen/CallFrame.h"
#include "treadle/codegen/ListCalls.h"
#include "treadle/runtime/Execution.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

namespace treadle::codegen {
namespace {

/// A function for a range of indices.
using Part = void (*)(void *captures, int64_t begin, int64_t end);

/// Compiled code keeps tensors as arrays of pointers, which is the representation of Tensor.
Tensor *asTensors(TensorBlock **blocks) { return reinterpret_cast<Tensor *>(blocks); }

/// Observes the memory use of a kernel, as far as its inputs and outputs reveal it.
class KernelWatch {
public:
  KernelWatch(ClusterCounters &counters, std::span<const Tensor> inputs) : counters(counters) {
    for (const Tensor &input : inputs)
      elements.push_back(input.raw());
  }

  void see(const Tensor &output, bool copies) {
    if (!output || !output.rank() || output.get()->owner || !output.isUnique())
      return; // shares memory with an input or another tensor
    if (std::ranges::find(elements, output.raw()) != elements.end())
      ClusterCounters::add(counters.reuses);
    else
      countAllocation(counters, output, copies);
  }

private:
  ClusterCounters &counters;
  std::vector<const void *> elements; // of the inputs
};

} // namespace

// Compiled code refers to these by name, in this process or in a program that it is linked to.
extern "C" {

TensorBlock *treadle_allocate(CallFrame *frame, uint8_t isCopy, uint8_t dtype, int32_t rank,
                              const int64_t *dims) {
  Expected<Tensor> made = Tensor::make(static_cast<DType>(dtype), Dims(dims, rank));
  if (!made)
    return nullptr;
  if (frame->counters && rank)
    countAllocation(*frame->counters, *made, isCopy);
  return made->take();
}

TensorBlock *treadle_reuse(CallFrame *frame, TensorBlock *of, uint8_t dtype, int32_t rank,
                           const int64_t *dims) {
  Tensor tensor = Tensor::adopt(of);
  bool fits = tensor.isUnique() && static_cast<uint8_t>(tensor.dtype()) == dtype &&
              std::ranges::equal(tensor.dims(), Dims(dims, rank));
  tensor.take();
  if (!fits)
    return treadle_allocate(frame, /*isCopy=*/false, dtype, rank, dims);
  if (frame->counters && rank)
    ClusterCounters::add(frame->counters->reuses);
  return of;
}

TensorBlock *treadle_reshape(TensorBlock *from, int32_t rank, const int64_t *dims) {
  if (countElements(Dims(dims, rank)) != from->count)
    return nullptr;
  Tensor tensor = Tensor::adopt(from);
  Tensor result = tensor.withDims(Dims(dims, rank));
  tensor.take();
  return result.take();
}

TensorBlock *treadle_unique(CallFrame *frame, TensorBlock *block) {
  Tensor tensor = Tensor::adopt(block);
  if (tensor.isUnique())
    return tensor.take();
  Expected<Tensor> copy = tensor.clone();
  if (!copy)
    return nullptr;
  if (frame->counters)
    countAllocation(*frame->counters, *copy, /*isCopy=*/true);
  return copy->take();
}

void treadle_release(TensorBlock *block) {
  if (block)
    Tensor::adopt(block).reset();
}

void treadle_release_all(TensorBlock **blocks, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    treadle_release(blocks[i]);
}

int32_t treadle_kernel(CallFrame *frame, int32_t number, int32_t numInputs, TensorBlock **inputs,
                       uint64_t takes, int32_t numOutputs, TensorBlock **outputs) {
  const auto &[kernel, expected, copies, runsPython, hasEffects] = frame->kernels[number];
  frame->hadEffects |= hasEffects;
  uint32_t indices[maxKernelInputs];
  for (int i = 0; i < numInputs; ++i)
    indices[i] = i | (takes >> i & 1 ? InputIndex::takeBit : 0);
  for (int i = 0; i < numOutputs; ++i)
    outputs[i] = nullptr;
  Execution ctx;
  ctx.bases[0] = asTensors(inputs);
  ctx.inputIndex = indices;
  ctx.inputCount = static_cast<uint32_t>(numInputs);
  ctx.outputs = asTensors(outputs);
  ctx.outputCount = static_cast<uint32_t>(numOutputs);
  ctx.boundState = kernel.state.get();
  ctx.runState = frame->run;
  std::optional<KernelWatch> watch;
  if (frame->counters) [[unlikely]]
    watch.emplace(*frame->counters, std::span(asTensors(inputs), numInputs));
  callAndCharge(kernel.fn, ctx);
  for (uint64_t left = takes; left; left &= left - 1)
    asTensors(inputs)[std::countr_zero(left)].reset();
  if (watch)
    for (int i = 0; i < numOutputs; ++i)
      watch->see(asTensors(outputs)[i], copies);
  bool succeeded = !ctx.hasFailed();
  for (int i = 0; i < numOutputs; ++i)
    succeeded &= outputs[i] && expected[i].accepts(asTensors(outputs)[i]);
  if (!succeeded)
    for (int i = 0; i < numOutputs; ++i)
      asTensors(outputs)[i].reset();
  if (ctx.hasFailed())
    *frame->failure = {number, std::move(*ctx.error)};
  return succeeded;
}

void treadle_spread(CallFrame *frame, Part part, void *captures, int64_t size, int64_t count,
                    int64_t picoseconds) {
  Execution ctx;
  ctx.runState = frame->run;
  double perNumber = static_cast<double>(picoseconds) * 1e-3 * static_cast<double>(count) /
                     static_cast<double>(std::max<int64_t>(size, 1));
  ctx.parallelFor(size, perNumber, [&](int64_t begin, int64_t end) { part(captures, begin, end); });
}

/// Converts a float to a 16-bit one, to nearest, ties to even. LLVM calls it on processors without
/// an instruction for it; compiler runtime libraries only have it since GCC 13.
[[gnu::weak]] __bf16 __truncsfbf2(float x) { // NOLINT(bugprone-reserved-identifier)
  auto bits = std::bit_cast<uint32_t>(x);
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  uint32_t rounded = isNan ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<__bf16>(static_cast<uint16_t>(rounded >> 16));
}

} // extern "C"

bool ExpectedShape::accepts(const Tensor &tensor) const {
  if (!hasRank)
    return true;
  if (tensor.rank() != static_cast<int>(dims.size()))
    return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] >= 0 && tensor.dim(static_cast<int>(i)) != dims[i])
      return false;
  return true;
}

std::vector<RuntimeFunction> runtimeFunctions() {
  auto address = [](auto *function) { return reinterpret_cast<void *>(function); };
  return {{"treadle_allocate", address(treadle_allocate)},
          {"treadle_reuse", address(treadle_reuse)},
          {"treadle_reshape", address(treadle_reshape)},
          {"treadle_unique", address(treadle_unique)},
          {"treadle_release", address(treadle_release)},
          {"treadle_release_all", address(treadle_release_all)},
          {"treadle_spread", address(treadle_spread)},
          {"treadle_kernel", address(treadle_kernel)},
          {"__truncsfbf2", address(__truncsfbf2)},
          {"treadle_list", address(treadle_list)},
          {"treadle_list_own", address(treadle_list_own)},
          {"treadle_list_put", address(treadle_list_put)},
          {"treadle_list_row", address(treadle_list_row)},
          {"treadle_list_pop", address(treadle_list_pop)},
          {"treadle_list_stack", address(treadle_list_stack)}};
}

} // namespace treadle::codegen
