// Weights that a run reads one after the other: while a kernel computes, it may fetch those of the
// kernel after it.
#pragma once

#include <atomic>
#include <span>

namespace treadle {

/// Of a node: what the kernel that ran after its own read, in an earlier run. To be fetched, which
/// does no harm if nothing lies there any more, and never to be read. Thread-safe.
class NextWeights {
public:
  std::span<const char> get() const {
    const char *first = begin.load(std::memory_order_relaxed);
    size_t bytes = size.load(std::memory_order_relaxed);
    return {first, first ? bytes : 0};
  }
  /// Writes only what is new: several callers may read it.
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
