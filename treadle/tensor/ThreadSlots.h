// What each thread has for itself in an object that many threads use, so that none waits for
// another's lock, or for a cache line that another has just written.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace treadle {

/// As many threads as have slots of their own; more share them.
constexpr int maxThreadNumbers = 64;

/// A number of this thread, below `maxThreadNumbers`. Threads that live at the same time have
/// different ones, as long as there are no more of them.
int threadNumber();

/// A T for each thread that asks for one, made when it first does; each on cache lines of its own.
/// A slot belongs to whoever holds it, and to nobody else meanwhile. Thread-safe.
template <typename T> class ThreadSlots {
  struct alignas(64) Slot {
    std::atomic<bool> isHeld{false};
    T value{};
  };

public:
  /// A slot that is held while this lives; of nobody where it was another's.
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
    for (int i = 0; all && i < maxThreadNumbers; ++i)
      delete all->slots[i].load(std::memory_order_relaxed);
    delete all;
  }

  /// The slot of this number, unless somebody holds it: two threads have the number, or one that
  /// holds it asks again.
  Hold tryTake(int number = threadNumber()) const {
    Slot &slot = at(number);
    return Hold(slot.isHeld.exchange(true, std::memory_order_acquire) ? nullptr : &slot);
  }
  /// The slot of this number, as soon as nobody else holds it. For what is held for moments.
  Hold take(int number = threadNumber()) const { return wait(at(number)); }

  /// Holds one slot after the other, of those that there are.
  template <typename Visit> void forEach(Visit &&visit) const {
    Table *all = table.load(std::memory_order_acquire);
    for (int i = 0; all && i < maxThreadNumbers; ++i)
      if (Slot *slot = all->slots[i].load(std::memory_order_acquire))
        visit(*wait(*slot));
  }

private:
  struct Table {
    std::atomic<Slot *> slots[maxThreadNumbers] = {};
  };

  /// What is there, or a new one.
  template <typename Made> static Made &made(std::atomic<Made *> &place) {
    Made *found = place.load(std::memory_order_acquire);
    if (found) [[likely]]
      return *found;
    auto fresh = std::make_unique<Made>();
    if (place.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      found = fresh.release();
    return *found;
  }
  Slot &at(int number) const { return made(made(table).slots[number]); }

  static Hold wait(Slot &slot) {
    while (slot.isHeld.exchange(true, std::memory_order_acquire))
      std::this_thread::yield(); // the holder may need this core
    return Hold(&slot);
  }

  mutable std::atomic<Table *> table{nullptr};
};

/// A further owner of an object, with a count of its own on a cache line of its own: for a thread
/// that copies it often.
template <typename T> std::shared_ptr<T> ownShare(std::shared_ptr<T> shared) {
  struct alignas(64) Share {
    std::shared_ptr<T> object;
  };
  if (!shared)
    return nullptr;
  T *object = shared.get();
  return {std::make_shared<Share>(Share{std::move(shared)}), object};
}

} // namespace treadle
