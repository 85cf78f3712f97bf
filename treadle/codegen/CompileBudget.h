// How long compiling may take.
#pragma once

#include "treadle/tensor/Error.h"

#include <atomic>
#include <chrono>
#include <ctime>

namespace treadle::codegen {

/// The processor time that compiling for one session takes, all threads together, and may take:
/// what a busy machine makes it wait doesn't count. A compilation can't be interrupted: none begins
/// once the time is spent, and what one may take is bounded by the size of what it is given
/// (TranslationOptions). Thread-safe.
class CompileBudget {
public:
  using Duration = std::chrono::nanoseconds;

  /// The models that we know take 3 s, ResNet-50 the longest.
  explicit CompileBudget(Duration most = std::chrono::minutes(2)) : most(most) {}

  /// ResourceExhausted once it is spent.
  Expected<void> check() const {
    if (Duration(spent.load(std::memory_order_relaxed)) < most)
      return {};
    return Unexpected(resourceExhausted(
        "compiling has taken the ", std::chrono::duration_cast<std::chrono::seconds>(most).count(),
        " s that it may take in a session"));
  }

  /// Counts what its thread computes while it lives.
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
