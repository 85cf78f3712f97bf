// Prefetching of weights: while a kernel computes, it may prefetch those of the kernel after it.
#pragma once

#include <atomic>
#include <span>

namespace treadle {

/// The weights that, in an earlier run, the kernel after this node's read. They may only be
/// prefetched, never read: the memory may have been freed, which is harmless for a prefetch.
/// Thread-safe.
class NextWeights {
public:
  std::span<const char> get() const {
    const char *first = begin.load(std::memory_order_relaxed);
    size_t bytes = size.load(std::memory_order_relaxed);
    return {first, first ? bytes : 0};
  }
  /// Writes only if the value changes, since several threads may read it.
  void set(std::span<const char> weights) {
    if (begin.load(std::memory_order_relaxed) == weights.data())
      return;
    size.store(weights.size(), std::memory_order_relaxed);
    begin.store(weights.data(), std::memory_order_relaxed);
  }

private:
  std::atomic<const char *> begin{nullptr};
  std::atomic<size_t> size{0};
};

} // namespace treadle
