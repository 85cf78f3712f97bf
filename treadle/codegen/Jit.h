// Functions compiled to machine code of this process.
#pragma once

#include "treadle/codegen/Frame.h"
#include "treadle/runtime/Attr.h"

#include <memory>
#include <string>
#include <vector>

namespace treadle::codegen {

class MachineCode;
struct TensorProgram;

/// A cluster for one class of argument shapes. Thread-safe: it holds no state of a call.
class CompiledCluster {
public:
  ~CompiledCluster();

  /// Runs it. The arguments are taken over. False where compiled code can't go on: then the
  /// interpreter is to run the cluster, with arguments that the caller kept. Counts what it does
  /// with memory, where somebody wants to know.
  bool run(std::span<Tensor> arguments, std::span<Tensor> results, RunState &run,
           ClusterCounters *counters = nullptr) const;

private:
  friend Expected<std::shared_ptr<const CompiledCluster>> compile(TensorProgram program,
                                                                  const KernelRegistry &kernels);
  std::unique_ptr<MachineCode> code;
  ClusterCode entry = nullptr;
  std::vector<ClusterKernel> kernels;
  std::vector<Tensor> constants;
  std::vector<TensorBlock *> constantBlocks;
};

/// Compiles tensor code, which is used up. Internal for a step that fails (a fault of ours), and
/// the errors of binding kernels.
Expected<std::shared_ptr<const CompiledCluster>> compile(TensorProgram program,
                                                         const KernelRegistry &kernels);

} // namespace treadle::codegen
