// Statistics of running compiled code.
#pragma once

#include <atomic>
#include <cstdint>

namespace treadle::codegen {

/// Totals of all threads and calls. Tensors of rank 0 don't count: most are in registers.
struct ClusterCounters {
  using Count = std::atomic<uint64_t>;
  Count calls{0};       // calls that compiled code completed
  Count bails{0};       // calls in which compiled code bailed out to the interpreter
  Count interpreted{0}; // calls without code
  Count compilations{0}, compileNanoseconds{0};
  Count allocations{0}, bytes{0}; // of tensors that code and kernels allocated
  Count copies{0};                // allocations that only copy existing elements
  Count reuses{0};                // tensors that reused the buffer of another

  static void add(Count &count, uint64_t more = 1) {
    count.fetch_add(more, std::memory_order_relaxed);
  }
};

} // namespace treadle::codegen
