// The call interface of compiled code. Depends on neither LLVM nor MLIR.
#pragma once

#include "treadle/codegen/Counters.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Run.h"

#include <cstdint>
#include <vector>

namespace treadle::codegen {

/// The shape that compiled code expects of a kernel's result: its rank and known dimensions; -1 if
/// unknown.
struct ExpectedShape {
  bool hasRank = false;
  std::vector<int64_t> dims = {};

  bool accepts(const Tensor &tensor) const;
};

/// A kernel that compiled code calls.
struct ClusterKernel {
  BoundKernel kernel;
  std::vector<ExpectedShape> outputs;
  bool copies = false; // its results only rearrange elements of its inputs
  bool runsPython = false, hasEffects = false;
};

/// The error of a kernel, with the kernel's number.
struct KernelFailure {
  int32_t kernel = -1;
  Error error;
};

/// The value of a variable that compiled code works on, and the location of the current one. Loops
/// end once it has been replaced, since they may be waiting for that.
struct WatchedValue {
  TensorBlock *const *place;
  TensorBlock *value;
};

/// The frame of one call of a cluster. Compiled code accesses the first three fields.
struct CallFrame {
  const std::atomic<bool> *stopped;
  TensorBlock *const *constants;
  const WatchedValue *watched; // values of the cluster's variables
  const ClusterKernel *kernels;
  RunState *run;
  KernelFailure *failure;              // receives the error of a kernel
  ClusterCounters *counters = nullptr; // null: nothing is counted
  /// Whether a kernel with side effects was called, so that the interpreter must not run the
  /// cluster again.
  bool hadEffects = false;
};

inline void countAllocation(ClusterCounters &counters, const Tensor &made, bool isCopy) {
  ClusterCounters::add(counters.allocations);
  ClusterCounters::add(counters.bytes, made.bytes());
  ClusterCounters::add(counters.copies, isCopy);
}

/// Consumes the arguments. Returns 0 with results that the caller owns, or 1 without results if the
/// interpreter must run the cluster.
using ClusterCode = int32_t (*)(CallFrame *, TensorBlock **arguments, TensorBlock **results);

/// Maximum number of inputs of a kernel called by compiled code: one word has a bit for each input
/// that is passed with ownership.
constexpr int maxKernelInputs = 64;

/// A runtime function that compiled code calls, by name.
struct RuntimeFunction {
  const char *name;
  void *address;
};
std::vector<RuntimeFunction> runtimeFunctions();

} // namespace treadle::codegen
