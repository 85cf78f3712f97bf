// The kernel interface. A kernel is a function that is bound once to the attributes and dtypes of a
// node, and called with an OpContext for each execution. Kernels report bad input with `fail`; they
// never throw or print.
#pragma once

#include "treadle/tensor/Attr.h"
#include "treadle/tensor/DType.h"
#include "treadle/tensor/Error.h"
#include "treadle/tensor/Resource.h"
#include "treadle/tensor/Tensor.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace treadle {

class OpContext;
class NextWeights;
class RunState;
class Suspension;
class ThreadPool;

/// An executor that runs other ops while one is suspended.
class SuspendingExecutor {
public:
  virtual Ref<Suspension> suspend(OpContext &ctx) = 0;

protected:
  ~SuspendingExecutor() = default;
};

/// Computes one execution of a node. May be called by several threads at the same time, so the
/// bound state must not be modified without synchronization.
using KernelFn = void (*)(OpContext &);

/// A reference to an input in a plan: the array that holds it (values of this activation, or
/// constants of the plan), whether the kernel may take the value, and whether the executor clears
/// it after the call.
struct InputIndex {
  static constexpr uint32_t constantBit = 1u << 31;
  static constexpr uint32_t takeBit = 1u << 30;
  static constexpr uint32_t clearBit = 1u << 29;
  static constexpr uint32_t slotMask = clearBit - 1;
  /// Maximum number of values, inputs and edges of a plan. Building a larger one fails.
  static constexpr size_t maxValues = slotMask;
};

/// One execution of one node: its inputs, its outputs, and its run. Used by one thread, and valid
/// only during the kernel's call (except as described at `suspend`).
class OpContext {
public:
  int numInputs() const { return static_cast<int>(inputCount); }
  int numOutputs() const { return static_cast<int>(outputCount); }

  /// Returns input `i`, which may be shared and must not be written. Its dtype is the one that the
  /// kernel was bound for.
  const Tensor &input(int i) const {
    uint32_t k = inputIndex[i];
    return bases[k >> 31][k & InputIndex::slotMask];
  }
  /// Returns input `i` by value: moved if it has no other use (`input(i)` is then empty), otherwise
  /// shared.
  Tensor takeInput(int i) {
    uint32_t k = inputIndex[i];
    if (k & InputIndex::takeBit)
      return std::move(const_cast<Tensor &>(bases[0][k & InputIndex::slotMask]));
    return input(i);
  }
  /// True if input `i` has no other use and its elements have no other owner, so that the tensor
  /// from `takeInput(i)` may be overwritten.
  bool canReuseInput(int i) const {
    return (inputIndex[i] & InputIndex::takeBit) && input(i).isUnique();
  }

  /// Sets output `i`. Its dtype must be the one that the kernel was bound for.
  void setOutput(int i, Tensor value) { outputs[i] = std::move(value); }
  Tensor &output(int i) { return outputs[i]; }

  /// Allocates output `i` with this dtype and shape. Plain elements are uninitialized. On failure,
  /// calls `fail` and returns nullptr.
  Tensor *allocateOutput(int i, DType dtype, Dims dims) { return makeOutput(i, dtype, dims); }
  Tensor *allocateOutput(int i, DType dtype, std::initializer_list<int64_t> dims) {
    return makeOutput(i, dtype, Dims(dims.begin(), dims.size()));
  }
  /// Forwards the buffer of input `input` to the output if it can be reused and has this dtype size
  /// and shape; otherwise allocates a new one. Read the pointers to the inputs' elements *before*
  /// the call: they stay valid, while `input(i)` may not.
  Tensor *reuseInputOrAllocate(int input, int output, DType dtype, Dims dims);

  /// The bound state of the node, as created by the bind function.
  template <typename T> const T &state() const { return *static_cast<const T *>(boundState); }

  /// Ends this execution with an error; the first error is kept. The kernel must return
  /// immediately.
  void fail(Error e);
  bool hasFailed() const { return error != nullptr; }

  /// Unwraps an Expected. On an error, calls `fail` with it and returns nullopt: `Tensor t =
  /// TREADLE_OR_RETURN(ctx.check(Tensor::make(...)));`
  template <typename T> std::optional<T> check(Expected<T> value) {
    if (!value) {
      fail(std::move(value.error()));
      return std::nullopt;
    }
    return std::move(*value);
  }

  /// The state of the run that this execution belongs to.
  RunState &run() const { return *runState; }
  /// The worker threads of the run; null if it has none.
  ThreadPool *pool() const;
  /// Like RunState::nextWeights; empty outside of a run.
  std::span<const char> nextWeights(NextWeights &own, std::span<const char> weights) const;
  /// The number of the thread that started the run, whichever thread this is; used with
  /// ThreadSlots.
  int caller() const;

  /// Splits [0, total) into ranges, calls `body(begin, end)` for each on the run's threads, and
  /// returns when all are done. Runs inline if total * costPerItem (in ns) is too little to
  /// parallelize.
  void parallelFor(int64_t total, double costPerItem,
                   const std::function<void(int64_t, int64_t)> &body);

  /// Suspends an op that waits (dequeue, lock, receive): the kernel returns without outputs, and
  /// the op ends when another thread calls `complete` or `fail` of the Suspension. Requires
  /// BoundKernel::mayBlock.
  Ref<Suspension> suspend();

protected:
  OpContext() = default; // only executors create contexts, as Executions

  const Tensor *bases[2] = {nullptr, nullptr};
  const uint32_t *inputIndex = nullptr;
  Tensor *outputs = nullptr;
  const void *boundState = nullptr;
  RunState *runState = nullptr;
  std::unique_ptr<Error> error;
  Ref<Suspension> suspension;
  SuspendingExecutor *executor = nullptr; // null: a suspended op holds the thread
  uint32_t inputCount = 0;                // at most maxValues each
  uint32_t outputCount = 0;

private:
  Tensor *makeOutput(int i, DType dtype, Dims dims);
};

namespace detail {
template <typename T> T given(T pointer) { return pointer; }
template <typename T> T given(std::optional<T> value) { return std::move(*value); }
} // namespace detail

/// Evaluates to the value of a pointer or an optional. If it is null, returns from the kernel,
/// which has already failed: `Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype,
/// dims));`.
#define TREADLE_OR_RETURN(...)                                                                     \
  __extension__({                                                                                  \
    auto treadleTried = (__VA_ARGS__);                                                             \
    if (!treadleTried)                                                                             \
      return;                                                                                      \
    ::treadle::detail::given(std::move(treadleTried));                                             \
  })

/// A suspended op. Exactly one of completion, failure and cancellation takes effect. Thread-safe.
class Suspension : public RefCounted {
public:
  /// Reserves the right to complete the op. Returns false if it was cancelled; nothing may be
  /// consumed on its behalf then. After true, `complete` or `fail` must follow.
  bool claim();
  /// Ends the op with its outputs, or with an error. Requires a successful `claim`.
  virtual void complete(std::vector<Tensor> outputs) = 0;
  virtual void fail(Error error) = 0;

private:
  std::atomic<bool> isClaimed{false};
};

/// Waits for the op if it is suspended, and takes its outputs or its error. Cancels it if the run
/// is stopped. For executors that have no other ops to run meanwhile.
void finishSuspended(OpContext &ctx);

/// The properties of a node that its bind function gets.
struct BindContext {
  std::string_view node; // for resources that are named after the node
  std::string_view op;
  const AttrMap &attrs;              // include the defaults of the op definition
  std::span<const DType> inputTypes; // base dtypes, without the reference bit
  std::span<const DType> outputTypes;
  std::string_view device = {};
  std::span<const std::string> outputNames = {}; // NodeSpec::outputNames
};

/// A kernel bound to a node.
struct BoundKernel {
  KernelFn fn = nullptr;
  std::shared_ptr<const void> state = {};
  bool mayBlock = false;    // may suspend
  bool isExpensive = false; // typically takes more than 10 us: worth another thread
  bool takesRefs = false;   // takes references as inputs; otherwise they are read first
};

/// Binds a kernel function with its state, which it reads with OpContext::state.
template <typename State> BoundKernel boundWith(KernelFn fn, State state) {
  BoundKernel bound;
  bound.fn = fn;
  bound.state = std::make_shared<const State>(std::move(state));
  return bound;
}

/// Adds state to a bound kernel, or passes an error on.
template <typename State>
Expected<BoundKernel> withState(Expected<BoundKernel> bound, State state) {
  if (bound)
    bound->state = std::make_shared<const State>(std::move(state));
  return bound;
}

/// Marks a bound kernel as expensive.
inline BoundKernel expensive(BoundKernel bound) {
  bound.isExpensive = true;
  return bound;
}

/// Binds a kernel to a node. Errors are reported when the node runs, with its name added. Returns
/// Unimplemented for a dtype or an attribute value that the kernel doesn't support.
using BindFn = Expected<BoundKernel> (*)(const BindContext &);

/// An entry of a kernel table.
struct KernelEntry {
  std::string_view op;
  BindFn bind;
};

/// Returns the kernel table of a family.
using KernelTable = std::span<const KernelEntry> (*)();

/// A kernel family, named after the function in namespace treadle that returns its table.
struct KernelFamily {
  KernelTable table;
  std::string_view function;
};
// Declares the table function of a family. The Families.h lists consist of these and may be
// included again with another definition.
#define TREADLE_FAMILY(function)                                                                   \
  namespace treadle {                                                                              \
  std::span<const KernelEntry> function();                                                         \
  }

struct NodeSpec;
class FunctionLibrary;

/// An entry of a table of kernels that call functions through the function library. They block
/// their thread while a function waits.
struct FunctionKernelEntry {
  std::string_view op;
  Expected<BoundKernel> (*bind)(const NodeSpec &node, FunctionLibrary *library);
};

/// Finds kernels by op. Built-in tables are added once; user-defined ops may be added to a separate
/// registry that falls back to the built-in one. Not thread-safe while kernels are added.
class KernelRegistry {
public:
  /// `parent`: searched for ops that this registry lacks; must outlive it. May be null.
  explicit KernelRegistry(const KernelRegistry *parent = nullptr);
  ~KernelRegistry();
  using Bind = std::function<Expected<BoundKernel>(const BindContext &)>;
  /// Adds kernels, replacing those of the same ops. Function kernels are kept by reference, so
  /// their table must outlive the registry.
  void add(std::span<const KernelEntry> table);
  void add(std::span<const FunctionKernelEntry> table);
  void add(std::string op, Bind bind);
  /// Returns the kernel of an op; null if there is none.
  const Bind *find(std::string_view op) const;
  const FunctionKernelEntry *findFunctionKernel(std::string_view op) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Runs one op outside of a graph, for tests and constant folding: binds it with `attrs` (defaults
/// of the op definition must be included) and executes it.
Expected<std::vector<Tensor>> runOp(const KernelRegistry &registry, std::string_view op,
                                    const AttrMap &attrs, std::vector<Tensor> inputs,
                                    std::vector<DType> outputTypes);

} // namespace treadle
