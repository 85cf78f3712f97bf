// What compiled code is called with, and what it calls. No LLVM, no MLIR.
#pragma once

#include "treadle/codegen/Counters.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Run.h"

#include <cstdint>
#include <vector>

namespace treadle::codegen {

/// What compiled code takes for granted of a kernel's result: its rank, and dimensions that are
/// known; -1: any.
struct ExpectedShape {
  bool hasRank = false;
  std::vector<int64_t> dims = {};

  bool accepts(const Tensor &tensor) const;
};

/// A kernel that compiled code calls.
struct ClusterKernel {
  BoundKernel kernel;
  std::vector<ExpectedShape> outputs;
  bool copies = false; // its results are elements of its inputs, in another place or order
};

/// A kernel's error, and its number.
struct KernelFailure {
  int32_t kernel = -1;
  Error error;
};

/// The value of a variable that compiled code works on, and where it is. Loops end once another is
/// in its place: they may be waiting for that.
struct WatchedValue {
  TensorBlock *const *place;
  TensorBlock *value;
};

/// One call of a cluster. Compiled code reads the first three fields.
struct Frame {
  const std::atomic<bool> *stopped;
  TensorBlock *const *constants;
  const WatchedValue *watched; // those of the cluster's variables
  const ClusterKernel *kernels;
  RunState *run;
  /// Gets the error of a kernel; null where the interpreter will find it again.
  KernelFailure *failure = nullptr;
  ClusterCounters *counters = nullptr; // null: nobody counts
};

inline void countAllocation(ClusterCounters &counters, const Tensor &made, bool isCopy) {
  ClusterCounters::add(counters.allocations);
  ClusterCounters::add(counters.bytes, made.bytes());
  ClusterCounters::add(counters.copies, isCopy);
}

/// 0, with results that the caller owns; or 1, without, and then the interpreter is to run the
/// cluster. The arguments are taken over either way.
using ClusterCode = int32_t (*)(Frame *, TensorBlock **arguments, TensorBlock **results);

/// The most inputs of a kernel that compiled code calls: a word says which it gives away.
constexpr int maxKernelInputs = 64;

/// A function of ours that compiled code calls, by name.
struct RuntimeFunction {
  const char *name;
  void *address;
};
std::vector<RuntimeFunction> runtimeFunctions();

} // namespace treadle::codegen
