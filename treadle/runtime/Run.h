// One run of a graph: what all its ops share, how it is stopped, and where it prints.
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

/// State of one run. Ops reach it from any thread; everything here is safe to use concurrently.
class RunState {
public:
  RunState(ResourceManager &resources, ThreadPool *pool) : resources(resources), pool(pool) {}

  /// The session's resources; they outlive the run.
  ResourceManager &resources;
  /// Threads beside the caller's own; null: none.
  ThreadPool *pool;
  /// The number of the thread that called for it.
  const int caller = threadNumber();
  /// The files that ops may open; null: none.
  const FileAccess *files = nullptr;
  /// Whether ops may ask for the time of day.
  bool mayReadClock = false;
  /// Where it is written down what ran when; null: nowhere.
  Trace *trace = nullptr;
  /// A number that no other run of its session has.
  uint64_t step = 0;

  /// Says that a kernel reads these weights, and gives what is read after them. `own` is the
  /// node's, and lives as long as the run.
  std::span<const char> nextWeights(NextWeights &own, std::span<const char> weights) {
    if (NextWeights *before = lastWeights.exchange(&own, std::memory_order_relaxed))
      before->set(weights);
    return own.get();
  }

  /// True once the run should end; loops and long kernels look at it.
  bool isStopped() const { return stopped.load(std::memory_order_relaxed); }
  /// The same as memory, for code that isn't C++.
  const std::atomic<bool> &stopFlag() const { return stopped; }
  /// Stops the run with this error (the first stays) and wakes everything that waits.
  void stop(Error reason);
  /// Why it was stopped; Cancelled where nothing was said.
  Error stopReason() const;
  /// Calls `wake` when the run is stopped (at once if it already is); returns a number for
  /// `forget`.
  int onStop(std::function<void()> wake);
  /// `wake` isn't called any more once this returns. Not for use inside a `wake`.
  void forget(int number);

  /// Where Print ops write a line; by default standard error.
  std::function<void(std::string_view line, std::string_view stream)> print;

  /// Function calls in progress, to bound recursion. Only the thread that runs the graph counts.
  int callDepth = 0;
  static constexpr int maxCallDepth = 1000;

private:
  std::atomic<NextWeights *> lastWeights{nullptr}; // of the kernel that told its own last
  std::atomic<bool> stopped{false};
  mutable std::mutex mutex;
  std::unique_ptr<Error> reason;
  std::vector<std::pair<int, std::function<void()>>> wakers;
  std::vector<int> waking; // being called
  std::condition_variable woken;
  int nextWaker = 0;
};

} // namespace treadle
