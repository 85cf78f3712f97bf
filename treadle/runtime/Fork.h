// Support for forked processes, which have the memory of their parent and none of its threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace treadle {

/// Returns a number that changes in the child process at each fork.
uint64_t forkGeneration();

/// Returns an object of which each process has its own, also after a fork: it is created at first
/// use and never destroyed. Meant for objects with threads, or with locks that threads may hold.
/// Thread-safe.
template <typename T> T &ofThisProcess() {
  struct Made {
    uint64_t generation;
    T object;
  };
  static std::atomic<Made *> newest{nullptr};
  Made *known = newest.load(std::memory_order_acquire);
  while (!known || known->generation != forkGeneration()) {
    auto *made = new Made{.generation = forkGeneration(), .object = {}};
    if (newest.compare_exchange_strong(known, made, std::memory_order_acq_rel))
      return made->object;
    delete made;
  }
  return known->object;
}

} // namespace treadle
