// A fixed set of worker threads in addition to the calling thread.
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

/// Worker threads and a queue. The caller of `parallelFor` works too, so a pool of n - 1 workers
/// serves n threads. Work is shared with as many workers as there are cores on which no other
/// thread of the process computes: if callers keep all cores busy, each does its own work.
/// Thread-safe; calls may nest.
class ThreadPool {
public:
  /// `cores`: ids of the cores that the workers may run on; empty: all. `account`: charged for the
  /// tensors that the workers allocate; may be null.
  explicit ThreadPool(int workers, const std::vector<int> &cores = {},
                      MemoryBudget::Account *account = nullptr);
  ~ThreadPool(); // waits for queued work
  /// Whether the workers belong to the process that this one was forked from. Such a pool can be
  /// neither used nor destroyed, since its workers would never be joined.
  bool isForked() const { return generation != forkGeneration(); }
  int numWorkers() const { return static_cast<int>(threads.size()); }

  /// Runs `task` on a worker, asynchronously.
  void schedule(std::function<void()> task);

  /// Calls `body(begin, end)` for ranges that cover [0, total), each at least `grain` long, on the
  /// workers and the calling thread. Returns when all are done. Rethrows the first exception of a
  /// body.
  void parallelFor(int64_t total, int64_t grain, const std::function<void(int64_t, int64_t)> &body);

  /// Like `parallelFor`, but only on the calling thread and workers that are spinning: they start
  /// within a fraction of a microsecond, while waking a worker takes tens.
  void parallelForSpinning(int64_t total, int64_t grain,
                           const std::function<void(int64_t, int64_t)> &body);
  /// Number of cores on which no other caller of the process computes.
  int64_t freeCores() const;
  /// Number of workers that are spinning.
  int numSpinning() const { return spinningWorkers.load(std::memory_order_relaxed); }

private:
  class Ranges;
  /// Receives ranges for a spinning worker.
  struct alignas(64) Mailbox {
    std::atomic<bool> isOpen{false};
    std::atomic<Ranges *> offerToSpinning{nullptr};
  };

  void work(Mailbox &own);
  void spinForWork(Mailbox &own);
  int64_t offerToSpinning(Ranges &ranges, int64_t most);
  void withdraw(Ranges &ranges);
  void share(int64_t total, int64_t grain, int64_t helpers, bool wakes,
             const std::function<void(int64_t, int64_t)> &body);

  const uint64_t generation = forkGeneration();
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  bool isStopping = false;
  std::atomic<int64_t> queued{0}; // length of the queue, for readers without the lock
  const int numCores;             // cores that the workers and their caller may run on
  const bool spins;               // whether workers spin before they sleep; false if threads share
                                  // cores
  std::atomic<int> spinningWorkers{0};
  std::vector<Mailbox> mailboxes; // one for each worker
  std::vector<std::thread> threads;
};

} // namespace treadle
