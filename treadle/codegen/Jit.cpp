#include "treadle/codegen/Jit.h"
#include "treadle/codegen/CodeCache.h"
#include "treadle/codegen/MachineCode.h"
#include "treadle/codegen/Passes.h"
#include "treadle/dialect/Diagnostics.h"
#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

using CancelFlag = const std::atomic<bool> *;

bool isSet(CancelFlag flag) { return flag && flag->load(std::memory_order_relaxed); }

Error cancelledError() { return cancelled("the compilation was cancelled"); }

/// Runs all lowering steps; fails if cancelled. The module is verified after each step, so that a
/// bug fails the compilation instead of crashing the next step.
LogicalResult runPasses(ModuleOp module, std::vector<Tensor> &constants, CancelFlag isCancelled,
                        bool keepsPlaces) {
  module.getContext()
      ->loadDialect<cf::ControlFlowDialect, memref::MemRefDialect, vector::VectorDialect,
                    LLVM::LLVMDialect>();
  auto cluster = module.lookupSymbol<func::FuncOp>("cluster");
  PassManager cleanup(module.getContext());
  cleanup.addPass(createCanonicalizerPass());
  cleanup.addPass(createCSEPass());
  const std::function<LogicalResult()> steps[] = {
      [] { return success(); }, // verifies the translation
      [&] { return hoistInvariants(module), success(); },
      [&] { return interchangeLoops(module), success(); },
      [&] { return outline(cluster, pieceWeight, maxFusionWeight), success(); },
      [&] { return fuseElementwise(module); },
      [&] { return cleanup.run(module); },
      [&] { return outline(cluster), success(); },
      [&] { return bufferize(module, constants); },
      [&] { return placeLocally(module), success(); },
      [&] { return lowerControlFlow(module); },
      [&] { return insertCounts(module), success(); },
      [&] { return elideCounts(module), success(); },
      [&] { return lowerLoops(module); },
      [&] { return lowerToLlvm(module); },
  };
  for (const auto &step : steps)
    if (isSet(isCancelled) || failed(step()) || failed(verify(module)))
      return failure();
  if (!keepsPlaces)
    return success();
  PassManager places(module.getContext());
  places.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  return places.run(module);
}

bool movesElements(const std::string &op) {
  const OpDef *def = lookupOp(op);
  return def && def->facts().movesElements;
}

} // namespace

CompiledCluster::~CompiledCluster() = default;

Expected<bool> CompiledCluster::bailed(const CallFrame &frame) const {
  KernelFailure &failure = *frame.failure;
  if (failure.kernel >= 0 && (frame.hadEffects || kernels[failure.kernel].runsPython)) {
    const auto &[node, op] = kernelNames[failure.kernel];
    return Unexpected(std::move(failure.error).atNode(node, op));
  }
  if (!frame.hadEffects)
    return false;
  return Unexpected(frame.run->isStopped()
                        ? frame.run->stopReason()
                        : resourceExhausted("compiled code ran out of memory after Python code "
                                            "with side effects, which can't be repeated"));
}

Expected<bool> CompiledCluster::run(std::span<Tensor> arguments, std::span<Tensor> results,
                                    RunState &run, ClusterCounters *counters,
                                    const WatchedValue *watched) const {
  constexpr size_t few = 32;
  TensorBlock *fewBlocks[few];
  std::vector<TensorBlock *> manyBlocks;
  TensorBlock **in = fewBlocks;
  if (arguments.size() + results.size() > few) {
    manyBlocks.resize(arguments.size() + results.size());
    in = manyBlocks.data();
  }
  TensorBlock **out = in + arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i)
    in[i] = arguments[i].take();
  KernelFailure failure;
  CallFrame frame{&run.stopFlag(), constantBlocks.data(), watched, kernels.data(), &run, &failure,
                  counters};
  if (entry(&frame, in, out) != 0)
    return bailed(frame);
  for (size_t i = 0; i < results.size(); ++i)
    results[i] = Tensor::adopt(out[i]);
  return true;
}

static Expected<void> lowerUnlessCancelled(TensorProgram &program, CancelFlag isCancelled,
                                           bool keepsPlaces = false) {
  FirstError first(program.module->getContext());
  if (succeeded(runPasses(*program.module, program.tables.constants, isCancelled, keepsPlaces)))
    return {};
  return Unexpected(isSet(isCancelled) ? cancelledError()
                                       : internal("compilation failed: ", first.message));
}

Expected<void> lower(TensorProgram &program) { return lowerUnlessCancelled(program, nullptr); }

LinkedCode::LinkedCode(std::unique_ptr<MachineCode> machine, std::vector<Tensor> constants,
                       size_t bytes)
    : machine(std::move(machine)), constants(std::move(constants)), bytes(bytes) {}
LinkedCode::~LinkedCode() = default;

namespace {

/// Counts a compilation and its time.
class CompilationCount {
public:
  explicit CompilationCount(const LinkOptions &options)
      : counters(options.counters), begun(options.begun) {}
  ~CompilationCount() {
    if (!counters)
      return;
    ClusterCounters::add(counters->compilations);
    std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begun;
    ClusterCounters::add(counters->compileNanoseconds, static_cast<uint64_t>(took.count()));
  }

private:
  ClusterCounters *counters;
  const std::chrono::steady_clock::time_point begun;
};

} // namespace

/// Compiles; adds the code to the cache, if there is one, under this key.
static Expected<std::shared_ptr<const LinkedCode>>
compileUncached(TensorProgram &program, const LinkOptions &options, const ContentKey &key) {
  CompilationCount count(options);
  std::vector<Tensor> &constants = program.tables.constants;
  size_t numOwn = constants.size();
  TREADLE_TRY(lowerUnlessCancelled(program, options.isCancelled, options.metered != nullptr));
  std::vector<Tensor> added(constants.begin() + static_cast<ptrdiff_t>(numOwn), constants.end());
  constants.resize(numOwn);
  std::unique_ptr<llvm::MemoryBuffer> object =
      TREADLE_TRY(generate(*program.module, options.isCancelled, options.metered.get()));
  std::string bytes = options.cache ? object->getBuffer().str() : "";
  size_t size = object->getBufferSize();
  return load(std::move(object)).map([&](std::unique_ptr<MachineCode> machine) {
    auto code = std::make_shared<const LinkedCode>(std::move(machine), std::move(added), size);
    if (options.cache)
      options.cache->keep(key, code, bytes);
    return code;
  });
}

Expected<LinkedCluster> link(TensorProgram program, const LinkOptions &options) {
  ContentKey key = TREADLE_TRY(options.cache ? CodeCache::keyOf(program) : ContentKey());
  auto linked = [&](std::shared_ptr<const LinkedCode> code) {
    return LinkedCluster{std::move(code), std::move(program.tables)};
  };
  CodeCache::KeyLock keyLock(options.cache, key, options.isCancelled);
  if (options.cache)
    if (std::shared_ptr<const LinkedCode> code = options.cache->find(key, options.counters))
      return linked(std::move(code));
  return compileUncached(program, options, key).map(linked);
}

Expected<std::shared_ptr<const CompiledCluster>>
bind(LinkedCluster cluster, const KernelRegistry &kernels, FunctionLibrary *functions) {
  auto compiled = std::make_shared<CompiledCluster>();
  constexpr size_t page = 4096;
  compiled->charge.emplace(compiled->share, llvm::alignTo(cluster.code->bytes, page));
  for (const KernelCall &call : cluster.tables.kernels) {
    BoundKernel kernel = TREADLE_TRY(bindKernel(call, kernels, functions));
    const OpDef *def = lookupOp(call.op);
    bool runsPython = def && def->facts().runsPython;
    compiled->kernels.push_back({std::move(kernel), call.outputs, movesElements(call.op),
                                 runsPython, runsPython && def->isStateful()});
    compiled->kernelNames.emplace_back(call.node, call.op);
  }
  compiled->constants = std::move(cluster.tables.constants);
  llvm::append_range(compiled->constants, cluster.code->constants);
  for (const Tensor &constant : compiled->constants)
    compiled->constantBlocks.push_back(constant.get());
  compiled->entry = reinterpret_cast<ClusterCode>(cluster.code->machine->entry);
  compiled->code = std::move(cluster.code);
  return std::shared_ptr<const CompiledCluster>(std::move(compiled));
}

Expected<std::shared_ptr<const CompiledCluster>> compile(TensorProgram program,
                                                         const KernelRegistry &kernels) {
  return link(std::move(program)).and_then([&](LinkedCluster cluster) {
    return bind(std::move(cluster), kernels);
  });
}

} // namespace treadle::codegen
