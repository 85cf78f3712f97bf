#include "treadle/runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <system_error>

namespace treadle {
namespace {

/// To sleep and to be woken takes tens of microseconds; who waits for less looks for the end of it
/// instead. The time is short, so that somebody else's thread is not kept from the core for long.
constexpr auto longestLook = std::chrono::microseconds(50);

/// Looks for `condition` for a while: whether it came true.
template <typename Condition> bool lookFor(Condition condition) {
  auto end = std::chrono::steady_clock::now() + longestLook;
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition())
        return true;
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

} // namespace

ThreadPool::ThreadPool(int workers)
    : looks(workers < static_cast<int>(std::thread::hardware_concurrency())) {
  threads.reserve(static_cast<size_t>(workers));
  try {
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([this] { work(); });
  } catch (const std::system_error &) {
    // The system gives no more; those that are there do the work, or the caller alone.
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  wake.notify_all();
  for (std::thread &t : threads)
    t.join();
}

void ThreadPool::schedule(std::function<void()> task) {
  {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(task));
    queued.store(std::ssize(queue), std::memory_order_release);
  }
  wake.notify_one();
}

void ThreadPool::work() {
  for (;;) {
    std::function<void()> task;
    if (looks)
      lookFor([this] { return queued.load(std::memory_order_acquire) > 0; });
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [this] { return isStopping || !queue.empty(); });
      if (queue.empty())
        return;
      task = std::move(queue.front());
      queue.pop_front();
      queued.store(std::ssize(queue), std::memory_order_release);
    }
    task();
  }
}

namespace {

// Ranges are claimed by whoever is free; a worker that comes late finds none left. The caller
// leaves when all ranges are done, not when all workers have come, so nesting cannot deadlock.
struct SharedRanges {
  const std::function<void(int64_t, int64_t)> *body;
  int64_t total, step, count;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr thrown; // the first

  void run() {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        (*body)(i *step, std::min(total, (i + 1) * step));
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!thrown)
          thrown = std::current_exception();
      }
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
        std::lock_guard lock(mutex);
        finished.notify_all();
      }
    }
  }
};

} // namespace

void ThreadPool::parallelFor(int64_t total, int64_t grain,
                             const std::function<void(int64_t, int64_t)> &body) {
  int64_t ranges = std::min<int64_t>((numWorkers() + 1) * 4, total / std::max<int64_t>(grain, 1));
  if (ranges <= 1 || threads.empty()) {
    if (total > 0)
      body(0, total);
    return;
  }
  auto shared = std::make_shared<SharedRanges>();
  shared->body = &body;
  shared->total = total;
  shared->step = (total + ranges - 1) / ranges;
  shared->count = (total + shared->step - 1) / shared->step;
  for (int i = 0; i < numWorkers() && i + 1 < shared->count; ++i)
    schedule([shared] { shared->run(); });
  shared->run();
  auto isDone = [&] { return shared->done.load(std::memory_order_acquire) == shared->count; };
  if (!looks || !lookFor(isDone)) {
    std::unique_lock lock(shared->mutex);
    shared->finished.wait(lock, isDone);
  }
  if (shared->thrown)
    std::rethrow_exception(shared->thrown);
}

} // namespace treadle
