#include "treadle/tensor/ThreadSlots.h"

#include <bit>
#include <cstdint>

namespace treadle {
namespace {

static_assert(maxThreadSlots == 64, "a number is a bit of a word");

class ThreadNumbers {
public:
  /// Returns the lowest free number, or a shared one if none is free.
  int take(bool &isOwn) {
    uint64_t old = taken.load(std::memory_order_relaxed);
    for (;;) {
      int number = std::countr_one(old);
      isOwn = number < maxThreadSlots;
      if (!isOwn)
        return next.fetch_add(1, std::memory_order_relaxed) % maxThreadSlots;
      if (taken.compare_exchange_weak(old, old | uint64_t{1} << number, std::memory_order_relaxed))
        return number;
    }
  }
  void giveBack(int number) {
    taken.fetch_and(~(uint64_t{1} << number), std::memory_order_relaxed);
  }

private:
  std::atomic<uint64_t> taken{0};
  std::atomic<unsigned> next{0}; // next number to share
};

constinit ThreadNumbers numbers;

/// Frees the thread's number when the thread ends.
struct ThreadNumberOwner {
  ThreadNumberOwner() : number(numbers.take(isOwn)) {}
  ~ThreadNumberOwner() {
    if (isOwn)
      numbers.giveBack(number);
  }
  bool isOwn = false;
  int number;
};

} // namespace

int threadNumber() {
  // Has no destructor, since objects destroyed after `own` may still call threadNumber(). Two
  // threads may then have the same number for a moment, which slots allow.
  thread_local constinit int number = -1;
  if (number < 0) [[unlikely]] {
    thread_local ThreadNumberOwner own;
    number = own.number;
  }
  return number;
}

} // namespace treadle
