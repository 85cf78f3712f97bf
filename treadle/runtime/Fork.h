// Processes that were forked: they have all memory of their parent, and none of its threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace treadle {

/// A number that a process shares with those that it was forked from until the fork, and with none
/// of them after it.
uint64_t forkGeneration();

/// An object that each process of a line of forks has for itself, made when it is first asked for
/// and never destroyed: for what has threads, or locks that threads may hold. Thread-safe.
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
