// What a kernel is: a function that is bound once to a node's attributes and dtypes, and called for
// each execution with an OpContext. Kernels never throw on bad input and never print: they `fail`.
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

/// An executor that goes on with other ops while one waits.
class SuspendingExecutor {
public:
  virtual Ref<Suspension> suspend(OpContext &ctx) = 0;

protected:
  ~SuspendingExecutor() = default;
};

using KernelFn = void (*)(OpContext &);

/// The reference of an input in a plan: which of two arrays (values of this activation, constants
/// of the plan), whether the kernel may take the value, whether the executor clears it afterwards.
struct InputIndex {
  static constexpr uint32_t constantBit = 1u << 31;
  static constexpr uint32_t takeBit = 1u << 30;
  static constexpr uint32_t clearBit = 1u << 29;
  static constexpr uint32_t slotMask = clearBit - 1;
  /// What a plan may count: values, inputs and edges each. Plans of more aren't built.
  static constexpr size_t maxValues = slotMask;
};

/// One execution of one node: its inputs, its outputs, and the run that it is part of. Used by one
/// thread, and valid only during the kernel's call (but see `suspend`).
class OpContext {
public:
  int numInputs() const { return static_cast<int>(inputCount); }
  int numOutputs() const { return static_cast<int>(outputCount); }

  /// Input `i`, shared: never write to it. Its dtype is the one that the kernel was bound for.
  const Tensor &input(int i) const {
    uint32_t k = inputIndex[i];
    return bases[k >> 31][k & InputIndex::slotMask];
  }
  /// Input `i` by value: moved out where nobody else needs it (then `input(i)` is gone), else
  /// shared.
  Tensor takeInput(int i) {
    uint32_t k = inputIndex[i];
    if (k & InputIndex::takeBit)
      return std::move(const_cast<Tensor &>(bases[0][k & InputIndex::slotMask]));
    return input(i);
  }
  /// True if input `i` will be needed by nobody else and its elements have no other owner:
  /// `takeInput(i)` then gives a tensor that may be overwritten.
  bool canReuseInput(int i) const {
    return (inputIndex[i] & InputIndex::takeBit) && input(i).isUnique();
  }

  void setOutput(int i, Tensor value) { outputs[i] = std::move(value); }
  Tensor &output(int i) { return outputs[i]; }

  /// A new output of this dtype and shape; null, having failed, where it can't be made.
  Tensor *allocateOutput(int i, DType dtype, Dims dims) { return makeOutput(i, dtype, dims); }
  Tensor *allocateOutput(int i, DType dtype, std::initializer_list<int64_t> dims) {
    return makeOutput(i, dtype, Dims(dims.begin(), dims.size()));
  }
  /// Input `input`'s own block if it can be reused and has this dtype size and shape, else a new
  /// one. Read pointers to the inputs' elements *before* the call: they stay valid, `input(i)` may
  /// not.
  Tensor *reuseInputOrAllocate(int input, int output, DType dtype, Dims dims);

  /// The node's bound state, as the bind function made it.
  template <typename T> const T &state() const { return *static_cast<const T *>(boundState); }

  /// Ends this execution with an error (the first one stays). The caller returns at once.
  void fail(Error e);
  bool hasFailed() const { return error != nullptr; }

  /// The value of an Expected, or nothing having failed with its error:
  /// `Tensor t = TREADLE_OR_RETURN(ctx.check(Tensor::make(...)));`
  template <typename T> std::optional<T> check(Expected<T> value) {
    if (!value) {
      fail(std::move(value.error()));
      return std::nullopt;
    }
    return std::move(*value);
  }

  RunState &run() const { return *runState; }
  /// The run's threads beside the caller's; null: none.
  ThreadPool *pool() const;
  /// As RunState's; nothing outside of a run.
  std::span<const char> nextWeights(NextWeights &own, std::span<const char> weights) const;
  /// The number of the thread that called for the run, whichever thread this is: for ThreadSlots.
  int caller() const;

  /// Splits [0, total) into ranges for the run's threads and calls `body(begin, end)` for each,
  /// returning when all are done; runs inline where total * costPerItem (in ns) isn't worth a
  /// hand-over.
  void parallelFor(int64_t total, double costPerItem,
                   const std::function<void(int64_t, int64_t)> &body);

  /// For ops that wait (dequeue, lock, receive): the kernel returns without outputs, and whoever
  /// can later complete the op calls the Suspension's `complete` or `fail`. Needs
  /// BoundKernel::mayBlock.
  Ref<Suspension> suspend();

protected:
  OpContext() = default; // executors make Executions

  const Tensor *bases[2] = {nullptr, nullptr};
  const uint32_t *inputIndex = nullptr;
  Tensor *outputs = nullptr;
  const void *boundState = nullptr;
  RunState *runState = nullptr;
  std::unique_ptr<Error> error;
  Ref<Suspension> suspension;
  SuspendingExecutor *executor = nullptr; // null: an op that waits holds the thread
  uint32_t inputCount = 0;                // of each at most maxValues
  uint32_t outputCount = 0;

private:
  Tensor *makeOutput(int i, DType dtype, Dims dims);
};

namespace detail {
template <typename T> T given(T pointer) { return pointer; }
template <typename T> T given(std::optional<T> value) { return std::move(*value); }
} // namespace detail

/// A pointer, or the value of an optional; where there is none, the kernel, which has failed then,
/// returns: `Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, dims));`.
#define TREADLE_OR_RETURN(...)                                                                     \
  __extension__({                                                                                  \
    auto treadleTried = (__VA_ARGS__);                                                             \
    if (!treadleTried)                                                                             \
      return;                                                                                      \
    ::treadle::detail::given(std::move(treadleTried));                                             \
  })

/// A waiting op. Exactly one of completion, failure and cancellation wins. Thread-safe.
class Suspension : public RefCounted {
public:
  /// Reserves the right to complete: false if the op was cancelled meanwhile, and then nothing may
  /// be consumed on its behalf. After true, `complete` or `fail` must follow.
  bool claim();
  virtual void complete(std::vector<Tensor> outputs) = 0;
  virtual void fail(Error error) = 0;

private:
  std::atomic<bool> isClaimed{false};
};

/// Waits for a suspended op (if it is) and takes its outputs or its error; a stopped run cancels
/// it. For executors that have nothing else to do meanwhile.
void finishSuspended(OpContext &ctx);

/// What a bind function is told about its node.
struct BindContext {
  std::string_view node; // its name, for resources named after it
  std::string_view op;
  const AttrMap &attrs;              // defaults of the op's definition are filled in
  std::span<const DType> inputTypes; // base dtypes
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
  bool takesRefs = false;   // reference inputs are handed over as they are, not read first
};

/// A bound kernel with state.
template <typename State> BoundKernel boundWith(KernelFn fn, State state) {
  BoundKernel bound;
  bound.fn = fn;
  bound.state = std::make_shared<const State>(std::move(state));
  return bound;
}

template <typename State>
Expected<BoundKernel> withState(Expected<BoundKernel> bound, State state) {
  if (bound)
    bound->state = std::make_shared<const State>(std::move(state));
  return bound;
}

inline BoundKernel expensive(BoundKernel bound) {
  bound.isExpensive = true;
  return bound;
}

/// Errors of a bind are reported when the node is reached, with the node's name added.
/// Unimplemented for a dtype or an attribute value that the kernel lacks.
using BindFn = Expected<BoundKernel> (*)(const BindContext &);

/// A row of a kernel table.
struct KernelEntry {
  std::string_view op;
  BindFn bind;
};

/// The kernels of a family, which belong together.
using KernelTable = std::span<const KernelEntry> (*)();

/// A family, by the name of the function of namespace treadle that gives its table.
struct KernelFamily {
  KernelTable table;
  std::string_view function;
};
// Declares it. The lists Families.h consist of these and may be included again, with another
// meaning.
#define TREADLE_FAMILY(function)                                                                   \
  namespace treadle {                                                                              \
  std::span<const KernelEntry> function();                                                         \
  }

struct NodeSpec;
class FunctionLibrary;

/// A row of a table of kernels that call functions, which they find in the library. They hold their
/// thread while a function waits.
struct FunctionKernelEntry {
  std::string_view op;
  Expected<BoundKernel> (*bind)(const NodeSpec &node, FunctionLibrary *library);
};

/// Finds kernels by op. Built-in tables are added once; users' ops may be added to a registry of
/// their own that falls back to the built-in one. Not thread-safe while adding.
class KernelRegistry {
public:
  explicit KernelRegistry(const KernelRegistry *parent = nullptr);
  ~KernelRegistry();
  using Bind = std::function<Expected<BoundKernel>(const BindContext &)>;
  void add(std::span<const KernelEntry> table);
  void add(std::span<const FunctionKernelEntry> table);
  void add(std::string op, Bind bind);
  const Bind *find(std::string_view op) const;
  const FunctionKernelEntry *findFunctionKernel(std::string_view op) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Runs one op outside any graph, for tests and constant folding: binds it with `attrs` (op
/// definition defaults are not filled in here) and executes it.
Expected<std::vector<Tensor>> runOp(const KernelRegistry &registry, std::string_view op,
                                    const AttrMap &attrs, std::vector<Tensor> inputs,
                                    std::vector<DType> outputTypes);

} // namespace treadle
