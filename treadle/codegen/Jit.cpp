#include "treadle/codegen/Jit.h"
#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/MachineCode.h"
#include "treadle/codegen/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

LogicalResult runPasses(ModuleOp module, std::vector<Tensor> &constants) {
  module.getContext()
      ->loadDialect<cf::ControlFlowDialect, memref::MemRefDialect, LLVM::LLVMDialect>();
  auto cluster = module.lookupSymbol<func::FuncOp>("cluster");
  PassManager cleanup(module.getContext());
  cleanup.addPass(createCanonicalizerPass());
  cleanup.addPass(createCSEPass());
  if (failed(fuseElementwise(module)) || failed(cleanup.run(module)) ||
      failed(bufferize(cluster, constants)) || failed(verify(module)) ||
      failed(lowerControlFlow(module)))
    return failure();
  insertCounts(cluster);
  elideCounts(cluster);
  return success(succeeded(verify(module)) && succeeded(lowerLoops(module)) &&
                 succeeded(lowerToLlvm(module)));
}

/// Ops whose results are elements of their inputs, put elsewhere.
bool movesElements(const std::string &op) {
  static const llvm::StringSet<> ops = {"BatchToSpaceND",
                                        "BroadcastTo",
                                        "Concat",
                                        "ConcatV2",
                                        "DepthToSpace",
                                        "DynamicStitch",
                                        "Gather",
                                        "GatherNd",
                                        "GatherV2",
                                        "MirrorPad",
                                        "Pack",
                                        "Pad",
                                        "PadV2",
                                        "ReverseV2",
                                        "Roll",
                                        "Slice",
                                        "SpaceToBatchND",
                                        "SpaceToDepth",
                                        "Split",
                                        "SplitV",
                                        "StridedSlice",
                                        "TensorListStack",
                                        "TensorScatterUpdate",
                                        "Tile",
                                        "Transpose",
                                        "Unpack"};
  return ops.contains(op);
}

} // namespace

CompiledCluster::~CompiledCluster() = default;

bool CompiledCluster::run(std::span<Tensor> arguments, std::span<Tensor> results, RunState &run,
                          ClusterCounters *counters) const {
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
  Frame frame{&run.stopFlag(), constantBlocks.data(), kernels.data(), &run, nullptr, counters};
  if (entry(&frame, in, out) != 0)
    return false;
  for (size_t i = 0; i < results.size(); ++i)
    results[i] = Tensor::adopt(out[i]);
  return true;
}

Expected<void> lower(TensorProgram &program) {
  std::string message;
  ScopedDiagnosticHandler handler(program.module->getContext(), [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  if (failed(runPasses(*program.module, program.tables.constants)))
    return Unexpected(internal("compiling failed: ", message));
  return {};
}

Expected<std::shared_ptr<const CompiledCluster>> compile(TensorProgram program,
                                                         const KernelRegistry &kernels) {
  auto compiled = std::make_shared<CompiledCluster>();
  for (const KernelCall &call : program.tables.kernels) {
    Expected<BoundKernel> kernel = bindKernel(call, kernels);
    if (!kernel)
      return Unexpected(std::move(kernel.error()));
    compiled->kernels.push_back({std::move(*kernel), call.outputs, movesElements(call.op)});
  }
  if (Expected<void> lowered = lower(program); !lowered)
    return Unexpected(std::move(lowered.error()));
  compiled->constants = std::move(program.tables.constants);
  for (const Tensor &constant : compiled->constants)
    compiled->constantBlocks.push_back(constant.get());
  Expected<std::unique_ptr<MachineCode>> code = generate(*program.module);
  if (!code)
    return Unexpected(std::move(code.error()));
  compiled->entry = reinterpret_cast<ClusterCode>((*code)->entry);
  compiled->code = std::move(*code);
  return std::shared_ptr<const CompiledCluster>(std::move(compiled));
}

} // namespace treadle::codegen
