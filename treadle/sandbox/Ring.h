// Bytes from one process to another, through memory that both share.
#pragma once

#include "treadle/tensor/Error.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace treadle::sandbox {

using Clock = std::chrono::steady_clock;

/// What one side waits on: a number that changes, and whether anybody sleeps until it does. In
/// shared memory.
struct alignas(64) Bell {
  std::atomic<uint32_t> rings{0};
  std::atomic<uint32_t> sleepers{0};

  /// Wakes who sleeps.
  void ring();
  /// The same for those that somebody else may have declared awake.
  void ringAll();
  /// Sleeps while the number is `seen`, at most so long. May return early.
  void sleep(uint32_t seen, Clock::duration most);
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// A ring of bytes as it stands in shared memory: how many were written and read, in all.
struct Ring {
  static constexpr uint64_t capacity = uint64_t{1} << 20;

  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
  Bell forReader, forWriter;
  alignas(64) std::byte bytes[capacity];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// Whether it is worth looking again and again before one sleeps. Where both sides have a core it
/// saves the 10 us of waking; where they haven't, one that looks keeps the other from its work. So
/// each time in vain doubles the times that go without it.
class SpinChoice {
public:
  bool next() {
    if (without == 0)
      return true;
    --without;
    return false;
  }
  void learn(bool wasInVain) {
    inVain = wasInVain ? std::clamp(2 * inVain, 1U, most) : 0;
    without = inVain;
  }

private:
  static constexpr uint32_t most = 1024;
  uint32_t inVain = 0, without = 0;
};

/// How long a side waits, and for what it stops.
struct Patience {
  Clock::time_point until = Clock::time_point::max();
  /// How long it looks again and again before it sleeps, where that is worth it.
  std::chrono::nanoseconds spin{0};
  /// Looked at before it sleeps, and after: an error ends the wait.
  std::function<Expected<void>()> check = [] { return Expected<void>(); };
  /// The longest sleep. Whoever shares the memory can have the kernel forget who sleeps on it.
  Clock::duration longestSleep = std::chrono::milliseconds(100);
};

/// The end that writes. Its own count is kept here, where the other process can't change it; the
/// other's count is checked whenever it is read. Used by one thread at a time.
class RingWriter {
public:
  explicit RingWriter(Ring &ring) : ring(ring) {}

  /// Waits for room as long as `patience` says: DeadlineExceeded then. DataLoss if the other side
  /// claims to have read what was never written.
  Expected<void> write(std::span<const std::byte> data, const Patience &patience);

private:
  Expected<uint64_t> room() const;

  Ring &ring;
  uint64_t written = 0;
};

/// The end that reads: copies out, so that what was read stays what it is.
class RingReader {
public:
  explicit RingReader(Ring &ring) : ring(ring) {}

  /// As RingWriter::write; DataLoss if the other side claims to have written more than fits.
  Expected<void> read(std::span<std::byte> data, const Patience &patience);

private:
  Expected<uint64_t> available() const;
  Expected<uint64_t> waitForMore(const Patience &patience);

  Ring &ring;
  uint64_t taken = 0;
  SpinChoice spinChoice;
};

} // namespace treadle::sandbox
