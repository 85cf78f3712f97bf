// A fixed set of threads for work beside the caller's own thread.
#pragma once

#include "treadle/runtime/Fork.h"
#include "treadle/tensor/MemoryBudget.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace treadle {

/// Worker threads and a queue. The caller of `parallelFor` works too, so that a pool of n - 1
/// workers serves n threads. Work is shared with as many workers as there are cores on which no
/// other thread of the process computes: where callers keep the cores busy, each does its own.
/// Thread-safe; calls may nest.
class ThreadPool {
public:
  /// `cores`: the numbers of those that the workers may run on; none: all.
  /// `account`: what the workers' tensors are charged to; null: nothing.
  explicit ThreadPool(int workers, const std::vector<int> &cores = {},
                      MemoryBudget::Account *account = nullptr);
  ~ThreadPool(); // waits for queued work
  /// Whether the workers are in the process that this one was forked from. It can't be used then,
  /// nor destroyed: they would be waited for.
  bool isForked() const { return generation != forkGeneration(); }
  int numWorkers() const { return static_cast<int>(threads.size()); }

  /// Runs `task` on a worker, some time.
  void schedule(std::function<void()> task);

  /// Calls `body(begin, end)` for ranges that cover [0, total), each at least `grain` long, on the
  /// workers and the calling thread; returns when all are done. What a body throws, this throws.
  void parallelFor(int64_t total, int64_t grain, const std::function<void(int64_t, int64_t)> &body);

  /// The same on the calling thread and those workers that look for work at this moment: they begin
  /// within a fraction of a microsecond, where one that sleeps takes tens.
  void parallelForSoon(int64_t total, int64_t grain,
                       const std::function<void(int64_t, int64_t)> &body);
  /// How many cores there are that no other caller of the process computes on.
  int64_t freeCores() const;
  /// How many workers look for work now.
  int numLooking() const { return looking.load(std::memory_order_relaxed); }

private:
  class Ranges;
  /// Where a worker that looks for work is handed it.
  struct alignas(64) Mailbox {
    std::atomic<bool> isOpen{false};
    std::atomic<Ranges *> offer{nullptr};
  };

  void work(Mailbox &own);
  void look(Mailbox &own);
  int64_t offer(Ranges &ranges, int64_t most);
  void takeBack(Ranges &ranges);
  void share(int64_t total, int64_t grain, int64_t helpers, bool wakes,
             const std::function<void(int64_t, int64_t)> &body);

  const uint64_t generation = forkGeneration();
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  bool isStopping = false;
  std::atomic<int64_t> queued{0}; // of the queue, for those who look without the lock
  const int numCores;             // that workers and their caller may run on
  const bool looks;               // before they sleep; not where threads share cores
  std::atomic<int> looking{0};
  std::vector<Mailbox> mailboxes; // one for each worker
  std::vector<std::thread> threads;
};

} // namespace treadle
