#include "treadle/runtime/Fork.h"

#include <pthread.h>

namespace treadle {

uint64_t forkGeneration() {
  static std::atomic<uint64_t> generation{0};
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

} // namespace treadle
