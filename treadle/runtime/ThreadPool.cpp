#include "treadle/runtime/ThreadPool.h"

#include "treadle/runtime/Cores.h"
#include "treadle/runtime/DenormalScope.h"
#include "treadle/tensor/Resource.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>

namespace treadle {
namespace {

using Clock = std::chrono::steady_clock;

/// Going to sleep and waking up takes tens of microseconds, so threads spin for shorter waits; a
/// run may have hundreds of parallel sections. Spinning is bounded, so that an idle process leaves
/// the cores to others.
constexpr auto maxSpin = std::chrono::microseconds(500);
/// Two reads of the clock are much closer together than this, unless another process was given the
/// core in between. The core is needed then, and spinning ends.
constexpr auto preemptionGap = std::chrono::microseconds(100);

/// Spins until `condition` holds, while `maySpin` allows it and the time limit isn't reached.
/// Returns whether it holds.
template <typename Condition, typename MaySpin>
bool spinUntil(Condition condition, MaySpin maySpin) {
  auto begin = Clock::now(), last = begin, now = begin;
  do {
    last = now;
    for (int i = 0; i < 32; ++i) {
      if (condition())
        return true;
#ifdef __x86_64__
      __builtin_ia32_pause();
#endif
    }
    now = Clock::now();
  } while (now - begin < maxSpin && now - last < preemptionGap && maySpin());
  return false;
}

} // namespace

// Threads claim ranges when they are free; a worker that starts late finds none left. The caller
// returns when all ranges are done, not when all workers have started, so nesting can't deadlock.
// Ranges have equal sizes, and each thread gets the same number, so that all end at the same time
// if none is delayed. Each gets more than one, so that others can take over ranges of a delayed
// thread.
class ThreadPool::Ranges : public RefCounted {
public:
  Ranges(int64_t total, int64_t grain, int64_t threads,
         const std::function<void(int64_t, int64_t)> &body)
      : body(body),
        count(threads * std::clamp<int64_t>(total / grain / threads, 1, rangesPerThread)),
        size(total / count), rest(total % count) {}

  void run() {
    DenormalScope scope(denormals);
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        body(beginOf(i), beginOf(i + 1));
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

  /// Rethrows the first exception of a range.
  void wait(bool spins) {
    auto isDone = [&] { return done.load(std::memory_order_acquire) == count; };
    if (!isDone() && (!spins || !spinUntil(isDone, [] { return true; }))) {
      std::unique_lock lock(mutex);
      finished.wait(lock, isDone);
    }
    if (thrown)
      std::rethrow_exception(thrown);
  }

private:
  /// More ranges would shorten waits for a delayed thread, but the data that ranges share would be
  /// read more often: with 4 and 8, nets took 3 to 10% longer.
  static constexpr int64_t rangesPerThread = 2;

  /// No range is shorter than the grain.
  int64_t beginOf(int64_t i) const { return i * size + std::min(i, rest); }

  const std::function<void(int64_t, int64_t)> &body; // not touched once all ranges are claimed
  const int64_t count, size, rest; // `count` ranges of this size; the first `rest` have one element
                                   // more
  const Denormals denormals = DenormalScope::current(); // the caller's
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr thrown; // the first exception
};

ThreadPool::ThreadPool(int workers, const std::vector<int> &cores, MemoryBudget::Account *account)
    : numCores(cores.empty() ? availableCores() : static_cast<int>(std::ssize(cores))),
      spins(workers < numCores), mailboxes(static_cast<size_t>(workers)) {
  threads.reserve(static_cast<size_t>(workers));
  try {
    for (Mailbox &mailbox : mailboxes)
      threads.emplace_back([this, &mailbox, cores, account] {
        MemoryBudget::Scope budget(account);
        if (!cores.empty())
          pinThisThread(cores);
        work(mailbox);
      });
  } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch)
    // The system has no more threads; the existing workers do the work, or the caller alone.
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
    queue.push_back(inModeOfCaller(std::move(task)));
    queued.store(std::ssize(queue), std::memory_order_release);
  }
  wake.notify_one();
}

int64_t ThreadPool::freeCores() const { return numCores - 1 - ComputeScope::others(numCores - 1); }

void ThreadPool::work(Mailbox &own) {
  for (;;) {
    std::function<void()> task;
    if (spins)
      spinForWork(own);
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

/// Spins for ranges in its mailbox, until a task is queued or the time limit is reached.
void ThreadPool::spinForWork(Mailbox &own) {
  auto isHanded = [&] { return own.offerToSpinning.load(std::memory_order_relaxed) != nullptr; };
  auto isQueued = [&] { return queued.load(std::memory_order_acquire) > 0; };
  auto hasCore = [&] { return ComputeScope::others(numCores) < numCores; };
  auto setOpen = [&](bool isOpen) {
    own.isOpen.store(isOpen, std::memory_order_relaxed);
    spinningWorkers.fetch_add(isOpen ? 1 : -1, std::memory_order_relaxed);
  };
  setOpen(true);
  while (spinUntil([&] { return isHanded() || isQueued(); }, hasCore) && !isQueued())
    if (Ranges *ranges = own.offerToSpinning.exchange(nullptr, std::memory_order_acquire)) {
      setOpen(false);
      Ref<Ranges>::adopt(ranges)->run();
      setOpen(true);
    }
  setOpen(false);
}

/// Puts the ranges into the mailboxes of at most `most` spinning workers. A worker that has just
/// stopped spinning ignores them.
int64_t ThreadPool::offerToSpinning(Ranges &ranges, int64_t most) {
  int64_t offered = 0;
  for (Mailbox &mailbox : mailboxes) {
    if (offered == most)
      break;
    if (!mailbox.isOpen.load(std::memory_order_relaxed))
      continue;
    Ranges *none = nullptr;
    ranges.retain();
    if (mailbox.offerToSpinning.compare_exchange_strong(none, &ranges, std::memory_order_release,
                                                        std::memory_order_relaxed))
      ++offered;
    else
      ranges.release();
  }
  return offered;
}

void ThreadPool::withdraw(Ranges &ranges) {
  for (Mailbox &mailbox : mailboxes) {
    Ranges *own = &ranges;
    if (mailbox.offerToSpinning.compare_exchange_strong(own, nullptr, std::memory_order_relaxed))
      ranges.release();
  }
}

void ThreadPool::share(int64_t total, int64_t grain, int64_t helpers, bool wakes,
                       const std::function<void(int64_t, int64_t)> &body) {
  grain = std::max<int64_t>(grain, 1);
  helpers = std::min(helpers, total / grain - 1);
  if (helpers > 0)
    helpers = std::min(helpers, freeCores());
  if (helpers <= 0) {
    if (total > 0)
      body(0, total);
    return;
  }
  auto ranges = Ref<Ranges>::adopt(new Ranges(total, grain, helpers + 1, body));
  int64_t offered = offerToSpinning(*ranges.get(), helpers);
  for (int64_t i = offered; wakes && i < helpers; ++i)
    schedule([ranges] { ranges->run(); });
  ranges->run();
  withdraw(*ranges.get());
  ranges->wait(spins);
}

void ThreadPool::parallelFor(int64_t total, int64_t grain,
                             const std::function<void(int64_t, int64_t)> &body) {
  share(total, grain, std::ssize(threads), /*wakes=*/true, body);
}

void ThreadPool::parallelForSpinning(int64_t total, int64_t grain,
                                     const std::function<void(int64_t, int64_t)> &body) {
  share(total, grain, numSpinning(), /*wakes=*/false, body);
}

} // namespace treadle
