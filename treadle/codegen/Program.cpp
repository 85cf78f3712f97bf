#include "treadle/codegen/Program.h"
#include "treadle/codegen/Tables.h"
#include "treadle/runtime/DenormalScope.h"

#include <algorithm>
#include <mutex>

namespace treadle::codegen {
namespace {

/// A variant that is ready to run.
struct ReadyVariant {
  ClusterCode code;
  std::vector<KernelCall> calls;
  std::vector<ClusterKernel> kernels;
  std::vector<Tensor> constants;
  std::vector<TensorBlock *> constantBlocks;
  std::span<const uint32_t> ones;

  bool fits(const ProgramTensor *inputs) const {
    for (size_t i = 0; i < ones.size(); i += 2)
      if (inputs[ones[i]].dims[ones[i + 1]] != 1)
        return false;
    return true;
  }
};

/// Created by the first call; lives as long as the process, like the code of the object.
struct State {
  std::vector<ReadyVariant> variants;
  ResourceManager resources; // empty; kernels may ask for it
};

using Kernels = const KernelRegistry &(*)(ProgramFunction &);

Expected<ReadyVariant> load(const ProgramVariant &image, const KernelRegistry &kernels) {
  ClusterTables tables = TREADLE_TRY(tablesFromBytes({image.tables, image.tablesSize}, true));
  ReadyVariant variant{image.code, std::move(tables.kernels),      {}, std::move(tables.constants),
                       {},         {image.ones, 2 * image.numOnes}};
  for (const KernelCall &call : variant.calls) {
    BoundKernel kernel = TREADLE_TRY(bindKernel(call, kernels));
    variant.kernels.push_back({std::move(kernel), call.outputs});
  }
  for (const ProgramConstant &constant : std::span(image.constants, image.numConstants)) {
    if (constant.index >= variant.constants.size())
      return Unexpected(dataLoss("the tables of the compiled code are corrupted"));
    variant.constants[constant.index] =
        Tensor::external(static_cast<DType>(constant.dtype), Dims(constant.dims, constant.rank),
                         const_cast<void *>(constant.data), [] {});
  }
  for (const Tensor &constant : variant.constants)
    variant.constantBlocks.push_back(constant.get());
  return variant;
}

Expected<State *> stateOf(ProgramFunction &function, Kernels kernels) {
  if (void *state = function.state.load(std::memory_order_acquire))
    return static_cast<State *>(state);
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (void *state = function.state.load(std::memory_order_acquire))
    return static_cast<State *>(state);
  if (function.abi != programAbi)
    return Unexpected(failedPrecondition(
        "function '", function.name, "' was compiled for version ", function.abi,
        " of the runtime library, but this is version ", programAbi, "; compile it again"));
  auto state = std::make_unique<State>();
  const KernelRegistry &registry = kernels(function);
  for (uint32_t i = 0; i < function.numVariants; ++i) {
    ReadyVariant variant = TREADLE_TRY(load(function.variants[i], registry));
    state->variants.push_back(std::move(variant));
  }
  function.state.store(state.get(), std::memory_order_release);
  return state.release();
}

PartialShape shapeOf(const ProgramValue &value) {
  if (value.rank < 0)
    return {};
  return PartialShape::ranked({value.dims, value.dims + value.rank});
}

std::string textOf(const ProgramTensor &tensor) {
  Dims dims(tensor.dims, std::clamp(tensor.rank, 0, maxProgramRank));
  bool isKnown = tensor.dtype > 0 && tensor.dtype < numDTypes;
  return str(isKnown ? dtypeName(static_cast<DType>(tensor.dtype)) : str("dtype ", tensor.dtype),
             dimsText(dims));
}

Expected<Tensor> inputOf(const ProgramFunction &function, uint32_t index,
                         const ProgramTensor &given) {
  const ProgramValue &wanted = function.inputs[index];
  PartialShape shape = shapeOf(wanted);
  if (given.rank < 0 || given.rank > maxProgramRank)
    return Unexpected(invalidArgument("input '", wanted.name, "' has rank ", given.rank,
                                      ", expected 0 to ", maxProgramRank));
  Dims dims(given.dims, given.rank);
  if (given.dtype != wanted.dtype || !shape.accepts(dims))
    return Unexpected(invalidArgument("input '", wanted.name, "' is ", textOf(given), ", expected ",
                                      dtypeName(static_cast<DType>(wanted.dtype)), shape.text()));
  std::optional<int64_t> count = countElements(dims);
  if (!count)
    return Unexpected(
        invalidArgument("input '", wanted.name, "' is ", textOf(given), ", which isn't a shape"));
  if (!given.data && *count)
    return Unexpected(invalidArgument("input '", wanted.name, "' has no data"));
  return Tensor::external(static_cast<DType>(wanted.dtype), dims, given.data, [] {});
}

/// Returns elements that the caller owns: those shared with inputs, constants or other outputs are
/// copied.
Expected<ProgramTensor> outputOf(const ProgramFunction &function, uint32_t index, Tensor tensor) {
  if (tensor.rank() > maxProgramRank)
    return Unexpected(unimplemented("output '", function.outputs[index].name, "' has rank ",
                                    tensor.rank(), ", expected at most ", maxProgramRank));
  if (!tensor.isUnique()) {
    Tensor copy = TREADLE_TRY(tensor.clone());
    tensor = std::move(copy);
  }
  ProgramTensor out{tensor.raw(), {}, tensor.rank(), static_cast<int32_t>(tensor.dtype()), nullptr};
  std::ranges::copy(tensor.dims(), out.dims);
  out.owner = tensor.take();
  return out;
}

/// Returns the outputs; InvalidArgument if no variant accepts these inputs.
Expected<std::vector<Tensor>> run(ProgramFunction &function, State &state,
                                  const ProgramTensor *inputs, std::span<const Tensor> arguments) {
  for (const ReadyVariant &variant : state.variants) {
    if (!variant.fits(inputs))
      continue;
    RunState run(state.resources, nullptr);
    KernelFailure failure;
    CallFrame frame{
        &run.stopFlag(), variant.constantBlocks.data(), nullptr, variant.kernels.data(), &run,
        &failure};
    std::vector<TensorBlock *> taken, given(function.numOutputs);
    for (const Tensor &argument : arguments)
      taken.push_back(Tensor(argument).take());
    if (variant.code(&frame, taken.data(), given.data()) == 0) {
      std::vector<Tensor> results;
      results.reserve(given.size());
      for (TensorBlock *block : given)
        results.push_back(Tensor::adopt(block));
      return results;
    }
    if (failure.kernel >= 0) {
      const KernelCall &call = variant.calls[failure.kernel];
      return Unexpected(std::move(failure.error).atNode(call.node, call.op));
    }
  }
  return Unexpected(invalidArgument(
      "function '", function.name,
      "' can't run on these inputs: their shapes or values cause an error in the "
      "model, or the function wasn't compiled for them; run the model with 'treadle run' to see "
      "which node fails"));
}

Expected<void> runFunction(ProgramFunction &function, Kernels kernels, const ProgramTensor *inputs,
                           ProgramTensor *outputs) {
  State *state = TREADLE_TRY(stateOf(function, kernels));
  DenormalScope denormals(static_cast<Denormals>(function.denormals));
  std::vector<Tensor> arguments;
  for (uint32_t i = 0; i < function.numInputs; ++i) {
    Tensor argument = TREADLE_TRY(inputOf(function, i, inputs[i]));
    arguments.push_back(std::move(argument));
  }
  std::vector<Tensor> results = TREADLE_TRY(run(function, *state, inputs, arguments));
  for (uint32_t i = 0; i < function.numOutputs; ++i) {
    Expected<ProgramTensor> output = outputOf(function, i, std::move(results[i]));
    if (!output) {
      treadle_free_outputs(outputs, i);
      return Unexpected(std::move(output.error()));
    }
    outputs[i] = *output;
  }
  return {};
}

int32_t report(const Error &error, ProgramError *into) {
  auto code = static_cast<int32_t>(error.code);
  if (into) {
    into->code = code;
    size_t length = std::min(error.message.size(), sizeof into->message - 1);
    std::memcpy(into->message, error.message.data(), length);
    into->message[length] = 0;
  }
  return code;
}

/// Lives as long as the process.
const KernelRegistry &namedKernels(ProgramFunction &function) {
  auto *registry = new KernelRegistry;
  for (KernelTable table : std::span(function.tables, function.numTables))
    registry->add(table());
  return *registry;
}

} // namespace

int32_t runProgram(ProgramFunction &function, Kernels kernels, const ProgramTensor *inputs,
                   ProgramTensor *outputs, ProgramError *error) {
  std::fill_n(outputs, function.numOutputs, ProgramTensor{});
  try {
    Expected<void> done = runFunction(function, kernels, inputs, outputs);
    if (!done)
      return report(done.error(), error);
  } catch (const std::bad_alloc &) {
    return report(resourceExhausted("out of memory"), error);
  }
  if (error)
    *error = {};
  return 0;
}

} // namespace treadle::codegen

using namespace treadle;
using namespace treadle::codegen;

int32_t treadle_run_static_function(ProgramFunction *function, const ProgramTensor *inputs,
                                    ProgramTensor *outputs, ProgramError *error) {
  return runProgram(*function, namedKernels, inputs, outputs, error);
}

void treadle_free_outputs(ProgramTensor *outputs, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (outputs[i].owner)
      Tensor::adopt(static_cast<TensorBlock *>(outputs[i].owner)).reset();
    outputs[i] = {};
  }
}
