// Functions compiled to machine code of this process.
#pragma once

#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/CompileCounters.h"
#include "treadle/codegen/Frame.h"
#include "treadle/tensor/Attr.h"
#include "treadle/tensor/KeptMemory.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace treadle::codegen {

class CodeCache;
class MachineCode;

/// Machine code for tensor code of one content, which any number of clusters may share: it holds no
/// state, and finds kernels and constants by number.
struct LinkedCode {
  LinkedCode(std::unique_ptr<MachineCode> machine, std::vector<Tensor> constants, size_t bytes);
  ~LinkedCode();

  const std::unique_ptr<MachineCode> machine;
  const std::vector<Tensor> constants; // those that lowering added, after the program's own
  const size_t bytes;                  // about what the code takes
};

/// A cluster with code, before its kernels are looked up. Needs no MLIR context.
struct LinkedCluster {
  std::shared_ptr<const LinkedCode> code;
  ClusterTables tables;
};

/// A cluster for one class of argument shapes. Thread-safe: it holds no state of a call.
class CompiledCluster {
public:
  ~CompiledCluster();

  /// Runs it. The arguments are taken over. False where compiled code can't go on: then the
  /// interpreter is to run the cluster, with arguments that the caller kept. Counts what it does
  /// with memory, where somebody wants to know. Values of variables are the last arguments and the
  /// last results; `watched` says of each where it is from.
  bool run(std::span<Tensor> arguments, std::span<Tensor> results, RunState &run,
           ClusterCounters *counters = nullptr, const WatchedValue *watched = nullptr) const;

private:
  friend Expected<std::shared_ptr<const CompiledCluster>> bind(LinkedCluster cluster,
                                                               const KernelRegistry &kernels);
  std::shared_ptr<const LinkedCode> code;
  const MemoryShare share;
  std::optional<MemoryCharge> charge; // of the code: it may be others' as well
  ClusterCode entry = nullptr;
  std::vector<ClusterKernel> kernels;
  std::vector<Tensor> constants;
  std::vector<TensorBlock *> constantBlocks;
};

struct LinkOptions {
  CompileCounters *counters = nullptr;            // null: nobody counts
  const std::atomic<bool> *isCancelled = nullptr; // looked at between steps; null: it goes on
  CodeCache *cache = nullptr;                     // looked in first; null: all is made anew
  /// Counts what the code does, which no cache may keep; null: nobody counts.
  std::shared_ptr<MeteredCode> metered = nullptr;
  /// When the work began that a compilation's time is counted from: translating included.
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// Machine code for tensor code, which is used up. Internal for a step that fails (a fault of
/// ours), Cancelled where nobody wants it any more. Thread-safe, but for the program's context.
Expected<LinkedCluster> link(TensorProgram program, const LinkOptions &options = {});

/// Looks up the kernels: the errors of that. Calls functions of whoever registered them. Charges
/// the code to the budget that is open, and throws OverBudget where less is left.
Expected<std::shared_ptr<const CompiledCluster>> bind(LinkedCluster cluster,
                                                      const KernelRegistry &kernels);

/// Both, without a cache.
Expected<std::shared_ptr<const CompiledCluster>> compile(TensorProgram program,
                                                         const KernelRegistry &kernels);

} // namespace treadle::codegen
