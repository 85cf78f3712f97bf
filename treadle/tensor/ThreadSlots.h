// Per-thread slots in an object that many threads use, so that threads don't contend for a lock or
// a cache line.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace treadle {

/// Number of threads that have slots of their own; further threads share them.
constexpr int maxThreadSlots = 64;

/// Returns a number of this thread below `maxThreadSlots`. Threads that are alive at the same
/// time have different numbers, unless there are more than `maxThreadSlots` of them.
int threadNumber();

/// One T for each thread number, created at its first use, on cache lines of its own. A slot is
/// exclusive while it is held. Thread-safe.
template <typename T> class ThreadSlots {
  struct alignas(64) Slot {
    std::atomic<bool> isHeld{false};
    T value{};
  };

public:
  /// Exclusive use of a slot during its lifetime; empty if the slot was already held.
  class Hold {
  public:
    explicit Hold(Slot *slot) : slot(slot) {}
    Hold(Hold &&other) noexcept : slot(std::exchange(other.slot, nullptr)) {}
    ~Hold() {
      if (slot)
        slot->isHeld.store(false, std::memory_order_release);
    }
    explicit operator bool() const { return slot; }
    T &operator*() const { return slot->value; }
    T *operator->() const { return &slot->value; }

  private:
    Slot *slot;
  };

  ThreadSlots() = default;
  ThreadSlots(const ThreadSlots &) = delete;
  ThreadSlots &operator=(const ThreadSlots &) = delete;
  ~ThreadSlots() {
    Table *all = table.load(std::memory_order_relaxed);
    for (int i = 0; all && i < maxThreadSlots; ++i)
      delete all->slots[i].load(std::memory_order_relaxed);
    delete all;
  }

  /// Holds the slot of this number. Returns an empty Hold if the slot is held already: by another
  /// thread with the same number, or further up this thread's stack.
  Hold tryTake(int number = threadNumber()) const {
    Slot &slot = at(number);
    return Hold(slot.isHeld.exchange(true, std::memory_order_acquire) ? nullptr : &slot);
  }
  /// Holds the slot of this number; spins while it is held elsewhere. For short critical sections.
  Hold take(int number = threadNumber()) const { return wait(at(number)); }

  /// Visits all slots that exist, holding one at a time.
  template <typename Visit> void forEach(Visit &&visit) const {
    Table *all = table.load(std::memory_order_acquire);
    for (int i = 0; all && i < maxThreadSlots; ++i)
      if (Slot *slot = all->slots[i].load(std::memory_order_acquire))
        visit(*wait(*slot));
  }

private:
  struct Table {
    std::atomic<Slot *> slots[maxThreadSlots] = {};
  };

  /// Returns the object in `place`; makes it if there is none.
  template <typename Made> static Made &getOrCreate(std::atomic<Made *> &place) {
    Made *found = place.load(std::memory_order_acquire);
    if (found) [[likely]]
      return *found;
    auto fresh = std::make_unique<Made>();
    if (place.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      found = fresh.release();
    return *found;
  }
  Slot &at(int number) const { return getOrCreate(getOrCreate(table).slots[number]); }

  static Hold wait(Slot &slot) {
    while (slot.isHeld.exchange(true, std::memory_order_acquire))
      std::this_thread::yield(); // the holder may need this core to finish
    return Hold(&slot);
  }

  mutable std::atomic<Table *> table{nullptr};
};

/// Returns another owner of the object with a reference count on a cache line of its own, for a
/// thread that copies the pointer often.
template <typename T> std::shared_ptr<T> shareWithOwnCount(std::shared_ptr<T> shared) {
  struct alignas(64) Share {
    std::shared_ptr<T> object;
  };
  if (!shared)
    return nullptr;
  T *object = shared.get();
  return {std::make_shared<Share>(Share{std::move(shared)}), object};
}

} // namespace treadle
