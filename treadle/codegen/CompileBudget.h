// Bounds the time spent on compiling.
#pragma once

#include "treadle/tensor/Error.h"

#include <atomic>
#include <chrono>
#include <ctime>

namespace treadle::codegen {

/// The processor time that compilation for one session has used and may use, over all threads;
/// waiting for the processor doesn't count. A running compilation isn't interrupted: no new one
/// starts once the budget is spent, and each is bounded by its input size (TranslationOptions).
/// Thread-safe.
class CompileBudget {
public:
  using Duration = std::chrono::nanoseconds;

  /// Models measured so far take at most 3 s (ResNet-50).
  explicit CompileBudget(Duration most = std::chrono::minutes(2)) : most(most) {}

  /// Returns ResourceExhausted if the budget is spent.
  Expected<void> check() const {
    if (Duration(spent.load(std::memory_order_relaxed)) < most)
      return {};
    return Unexpected(
        resourceExhausted("compilation has used up the ",
                          std::chrono::duration_cast<std::chrono::seconds>(most).count(),
                          " s that a session allows"));
  }

  /// A scope whose thread's processor time is charged to the budget.
  class Scope {
  public:
    explicit Scope(CompileBudget &budget) : budget(budget) {}
    ~Scope() { budget.spent.fetch_add((ofThread() - begun).count(), std::memory_order_relaxed); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    static Duration ofThread() {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
    }

    CompileBudget &budget;
    const Duration begun = ofThread();
  };

private:
  const Duration most;
  std::atomic<Duration::rep> spent{0};
};

} // namespace treadle::codegen
