#include "treadle/runtime/ThreadPool.h"

#include "treadle/runtime/Cores.h"
#include "treadle/tensor/Resource.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>

namespace treadle {
namespace {

using Clock = std::chrono::steady_clock;

/// To sleep and to be woken takes tens of microseconds; who waits for less looks for the end of it
/// instead. Between the parallel parts of a run there are some hundred. The time is bounded, so
/// that a process that has nothing to do leaves the cores to others.
constexpr auto longestLook = std::chrono::microseconds(500);
/// Between two looks at the clock less passes by far, unless somebody else's thread was given the
/// core meanwhile: it is wanted, then.
constexpr auto coreWasTaken = std::chrono::microseconds(100);

/// Looks for `condition` while it `mayLook`, and for not too long: whether it came true.
template <typename Condition, typename MayLook> bool lookFor(Condition condition, MayLook mayLook) {
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
  } while (now - begin < longestLook && now - last < coreWasTaken && mayLook());
  return false;
}

} // namespace

// Ranges are claimed by whoever is free; a worker that comes late finds none left. The caller
// leaves when all ranges are done, not when all workers have come, so nesting cannot deadlock.
// They are of equal size, and as many for each thread, so that all end at the same time if nobody
// is held up; and some for each, so that others do the work of one that is.
class ThreadPool::Ranges : public RefCounted {
public:
  Ranges(int64_t total, int64_t grain, int64_t threads,
         const std::function<void(int64_t, int64_t)> &body)
      : body(body), count(threads * std::clamp<int64_t>(total / grain / threads, 1, mostOfThread)),
        size(total / count), rest(total % count) {}

  void run() {
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

  /// Throws what a range threw first.
  void wait(bool looks) {
    auto isDone = [&] { return done.load(std::memory_order_acquire) == count; };
    if (!isDone() && (!looks || !lookFor(isDone, [] { return true; }))) {
      std::unique_lock lock(mutex);
      finished.wait(lock, isDone);
    }
    if (thrown)
      std::rethrow_exception(thrown);
  }

private:
  /// More of them let threads wait less for one that is held up, and read more than once what
  /// ranges share: with 4 and 8, nets took 3 to 10% longer.
  static constexpr int64_t mostOfThread = 2;

  /// No range is shorter than the grain.
  int64_t beginOf(int64_t i) const { return i * size + std::min(i, rest); }

  const std::function<void(int64_t, int64_t)> &body; // not touched once all ranges are claimed
  const int64_t count, size, rest; // so many of this size, the first ones one more
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr thrown; // the first
};

ThreadPool::ThreadPool(int workers, const std::vector<int> &cores, MemoryBudget::Account *account)
    : numCores(cores.empty() ? availableCores() : static_cast<int>(std::ssize(cores))),
      looks(workers < numCores), mailboxes(static_cast<size_t>(workers)) {
  threads.reserve(static_cast<size_t>(workers));
  try {
    for (Mailbox &mailbox : mailboxes)
      threads.emplace_back([this, &mailbox, cores, account] {
        MemoryBudget::Scope budget(account);
        if (!cores.empty())
          moveThisThreadTo(cores);
        work(mailbox);
      });
  } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch)
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

int64_t ThreadPool::freeCores() const { return numCores - 1 - Computing::others(numCores - 1); }

void ThreadPool::work(Mailbox &own) {
  for (;;) {
    std::function<void()> task;
    if (looks)
      look(own);
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

/// Does what it is handed, until a task is in the queue or nothing comes for a while.
void ThreadPool::look(Mailbox &own) {
  auto isHanded = [&] { return own.offer.load(std::memory_order_relaxed) != nullptr; };
  auto isQueued = [&] { return queued.load(std::memory_order_acquire) > 0; };
  auto hasCore = [&] { return Computing::others(numCores) < numCores; };
  auto setOpen = [&](bool isOpen) {
    own.isOpen.store(isOpen, std::memory_order_relaxed);
    looking.fetch_add(isOpen ? 1 : -1, std::memory_order_relaxed);
  };
  setOpen(true);
  while (lookFor([&] { return isHanded() || isQueued(); }, hasCore) && !isQueued())
    if (Ranges *ranges = own.offer.exchange(nullptr, std::memory_order_acquire)) {
      setOpen(false);
      Ref<Ranges>::adopt(ranges)->run();
      setOpen(true);
    }
  setOpen(false);
}

/// Hands the ranges to at most so many workers that look for work. One that has just ceased to look
/// leaves them where they are.
int64_t ThreadPool::offer(Ranges &ranges, int64_t most) {
  int64_t offered = 0;
  for (Mailbox &mailbox : mailboxes) {
    if (offered == most)
      break;
    if (!mailbox.isOpen.load(std::memory_order_relaxed))
      continue;
    Ranges *none = nullptr;
    ranges.retain();
    if (mailbox.offer.compare_exchange_strong(none, &ranges, std::memory_order_release,
                                              std::memory_order_relaxed))
      ++offered;
    else
      ranges.release();
  }
  return offered;
}

void ThreadPool::takeBack(Ranges &ranges) {
  for (Mailbox &mailbox : mailboxes) {
    Ranges *own = &ranges;
    if (mailbox.offer.compare_exchange_strong(own, nullptr, std::memory_order_relaxed))
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
  int64_t offered = offer(*ranges.get(), helpers);
  for (int64_t i = offered; wakes && i < helpers; ++i)
    schedule([ranges] { ranges->run(); });
  ranges->run();
  takeBack(*ranges.get());
  ranges->wait(looks);
}

void ThreadPool::parallelFor(int64_t total, int64_t grain,
                             const std::function<void(int64_t, int64_t)> &body) {
  share(total, grain, std::ssize(threads), /*wakes=*/true, body);
}

void ThreadPool::parallelForSoon(int64_t total, int64_t grain,
                                 const std::function<void(int64_t, int64_t)> &body) {
  share(total, grain, numLooking(), /*wakes=*/false, body);
}

} // namespace treadle
