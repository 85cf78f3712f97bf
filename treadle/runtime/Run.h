// The state of one run that all its ops share: stopping, printing, threads, resources.
#pragma once

#include "treadle/runtime/NextWeights.h"
#include "treadle/runtime/ResourceManager.h"
#include "treadle/tensor/Error.h"
#include "treadle/tensor/Resource.h"
#include "treadle/tensor/ThreadSlots.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

namespace treadle {

class FileAccess;
class ThreadPool;
class Trace;

/// State of one run. All members may be used concurrently.
class RunState {
public:
  RunState(ResourceManager &resources, ThreadPool *pool) : resources(resources), pool(pool) {}

  /// The session's resources; they outlive the run.
  ResourceManager &resources;
  /// Worker threads in addition to the calling thread; null: none.
  ThreadPool *pool;
  /// The number of the thread that started the run.
  const int caller = threadNumber();
  /// The files that ops may open; null: none.
  const FileAccess *files = nullptr;
  /// Whether ops may read the clock.
  bool mayReadClock = false;
  /// The trace that records the run; null: none.
  Trace *trace = nullptr;
  /// A step number, unique among the runs of the session.
  uint64_t step = 0;

  /// Records that a kernel reads these weights, and returns those of the kernel after it. `own`
  /// belongs to the node and must outlive the run.
  std::span<const char> nextWeights(NextWeights &own, std::span<const char> weights) {
    if (NextWeights *before = lastWeights.exchange(&own, std::memory_order_relaxed))
      before->set(weights);
    return own.get();
  }

  /// True once the run should end. Loops and long-running kernels poll it.
  bool isStopped() const { return stopped.load(std::memory_order_relaxed); }
  /// The flag itself, for compiled code.
  const std::atomic<bool> &stopFlag() const { return stopped; }
  /// Stops the run with this error (the first one is kept) and wakes all waiting ops.
  void stop(Error reason);
  /// The reason of the stop; Cancelled if none was set.
  Error stopReason() const;
  /// Calls `wake` when the run is stopped (immediately if it already is). Returns a number for
  /// `forget`.
  int onStop(std::function<void()> wake);
  /// Unregisters `wake`: it isn't running, and won't be called, once this returns. Must not be
  /// called from a `wake`.
  void forget(int number);

  /// Prints a line of a Print op; to standard error by default.
  std::function<void(std::string_view line, std::string_view stream)> print;

  /// Depth of function calls, to bound recursion. Only counted on the thread that runs the graph.
  int callDepth = 0;
  static constexpr int maxCallDepth = 1000;

private:
  std::atomic<NextWeights *> lastWeights{nullptr}; // of the kernel that recorded its weights last
  std::atomic<bool> stopped{false};
  mutable std::mutex mutex;
  std::unique_ptr<Error> reason;
  std::vector<std::pair<int, std::function<void()>>> wakers;
  std::vector<int> waking; // wakers that are being called
  std::condition_variable woken;
  int nextWaker = 0;
};

} // namespace treadle
