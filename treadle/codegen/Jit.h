// Compiles functions to machine code in this process.
#pragma once

#include "treadle/codegen/CallFrame.h"
#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/CompileCounters.h"
#include "treadle/tensor/Attr.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace treadle::codegen {

class CodeCache;
class MachineCode;

/// The machine code of one tensor program. Any number of clusters may share it: it has no state,
/// and refers to kernels and constants by number.
struct LinkedCode {
  LinkedCode(std::unique_ptr<MachineCode> machine, std::vector<Tensor> constants, size_t bytes);
  ~LinkedCode();

  const std::unique_ptr<MachineCode> machine;
  const std::vector<Tensor> constants; // added by the lowering, after those of the program
  const size_t bytes;                  // approximate memory use of the code
};

/// A compiled cluster whose kernels aren't bound yet. Needs no MLIR context.
struct LinkedCluster {
  std::shared_ptr<const LinkedCode> code;
  ClusterTables tables;
};

/// A compiled cluster for one class of argument shapes. Thread-safe: it holds no state of a call.
class CompiledCluster {
public:
  ~CompiledCluster();

  /// Runs the code and consumes the arguments. Returns false if the code bails out; the interpreter
  /// must then run the cluster, with arguments that the caller has kept. If Python code has failed,
  /// or has had side effects before the code bails out, returns the error instead: nothing must run
  /// twice. Updates statistics if enabled. Values of variables are the last arguments and the last
  /// results; `watched` tells where each comes from.
  Expected<bool> run(std::span<Tensor> arguments, std::span<Tensor> results, RunState &run,
                     ClusterCounters *counters = nullptr,
                     const WatchedValue *watched = nullptr) const;

private:
  /// Returns false, or the error, after the code has bailed out.
  Expected<bool> bailed(const CallFrame &frame) const;

  friend Expected<std::shared_ptr<const CompiledCluster>>
  bind(LinkedCluster cluster, const KernelRegistry &kernels, FunctionLibrary *functions);
  std::shared_ptr<const LinkedCode> code;
  const MemoryShare share;
  std::optional<MemoryCharge> charge; // for the code, which may be shared
  ClusterCode entry = nullptr;
  std::vector<ClusterKernel> kernels;
  std::vector<std::pair<std::string, std::string>> kernelNames; // node and op of each
  std::vector<Tensor> constants;
  std::vector<TensorBlock *> constantBlocks;
};

struct LinkOptions {
  CompileCounters *counters = nullptr;            // null: nothing is counted
  const std::atomic<bool> *isCancelled = nullptr; // polled between steps; null: not cancellable
  CodeCache *cache = nullptr;                     // looked up first; null: always compiles
  /// Counts the work of the code, which then can't be cached; null: nothing is counted.
  std::shared_ptr<MeteredCode> metered = nullptr;
  /// Start of the compilation, including the translation.
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// Compiles a program, consuming it. Returns Internal if a step fails (a bug), Cancelled if the
/// compilation was cancelled. Thread-safe, except for the context of the program.
Expected<LinkedCluster> link(TensorProgram program, const LinkOptions &options = {});

/// Binds the kernels, and returns their errors. `functions`: as in `bindKernel`. May call bind
/// functions that users registered. Charges the code to the current memory budget, and throws
/// OverBudget if too little is left.
Expected<std::shared_ptr<const CompiledCluster>>
bind(LinkedCluster cluster, const KernelRegistry &kernels, FunctionLibrary *functions = nullptr);

/// Links and binds, without a cache.
Expected<std::shared_ptr<const CompiledCluster>> compile(TensorProgram program,
                                                         const KernelRegistry &kernels);

} // namespace treadle::codegen
