// What compiled code did, counted for whoever asked.
#pragma once

#include <atomic>
#include <cstdint>

namespace treadle::codegen {

/// Counts of all threads and calls. Tensors of rank 0 don't count: they are registers mostly.
struct ClusterCounters {
  using Count = std::atomic<uint64_t>;
  Count calls{0};       // that compiled code ran to the end
  Count bails{0};       // that it gave up, and the interpreter ran
  Count interpreted{0}; // for which there was no code
  Count compilations{0}, compileNanoseconds{0};
  Count allocations{0}, bytes{0}; // of tensors: what code and kernels made anew
  Count copies{0};                // those among them that only hold what is elsewhere already
  Count reuses{0};                // tensors that took over the memory of another

  static void add(Count &count, uint64_t more = 1) {
    count.fetch_add(more, std::memory_order_relaxed);
  }
};

} // namespace treadle::codegen
