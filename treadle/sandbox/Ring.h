// A byte stream between two processes through shared memory.
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

/// An event count in shared memory: a counter, and the number of threads that sleep until it
/// changes.
struct alignas(64) EventCount {
  std::atomic<uint32_t> rings{0};
  std::atomic<uint32_t> sleepers{0};

  /// Increments the counter, and wakes sleepers if there are any.
  void ring();
  /// Does the same without trusting the number of sleepers, which the other process may have
  /// overwritten.
  void ringAll();
  /// Sleeps while the counter is `seen`, at most for `most`. May return early.
  void sleep(uint32_t seen, Clock::duration most);
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// A ring buffer in shared memory. The counters are total bytes written and read.
struct Ring {
  static constexpr uint64_t capacity = uint64_t{1} << 20;

  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
  EventCount forReader, forWriter;
  alignas(64) std::byte bytes[capacity];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// Adaptive spinning before sleeping. Spinning saves a wake-up of 10 us if each side has a core,
/// but delays the other side if they share one. So each failed spin doubles the number of following
/// waits that don't spin.
class AdaptiveSpin {
public:
  bool next() {
    if (without == 0)
      return true;
    --without;
    return false;
  }
  void learn(bool hasSpunInVain) {
    backoff = hasSpunInVain ? std::clamp(2 * backoff, 1U, most) : 0;
    without = backoff;
  }

private:
  static constexpr uint32_t most = 1024;
  uint32_t backoff = 0, without = 0;
};

/// How long to wait, and what ends a wait early.
struct WaitPolicy {
  Clock::time_point until = Clock::time_point::max();
  /// Duration to spin before sleeping.
  std::chrono::nanoseconds spin{0};
  /// Called before and after sleeping: an error ends the wait.
  std::function<Expected<void>()> check = [] { return Expected<void>(); };
  /// The longest single sleep; bounded, since the other process can suppress wake-ups in the shared
  /// memory.
  Clock::duration maxSleep = std::chrono::milliseconds(100);
};

/// The writing end. Keeps its own count privately, so that the other process can't change it, and
/// checks the other's count whenever it reads it. Not thread-safe.
class RingWriter {
public:
  explicit RingWriter(Ring &ring) : ring(ring) {}

  /// Writes all bytes, waiting for room. DeadlineExceeded if `waitPolicy` runs out; DataLoss if the
  /// other side claims to have read more than was written.
  Expected<void> write(std::span<const std::byte> data, const WaitPolicy &waitPolicy);

private:
  Expected<uint64_t> room() const;

  Ring &ring;
  uint64_t written = 0;
};

/// The reading end. Copies bytes out, so that they can't change after they are checked.
class RingReader {
public:
  explicit RingReader(Ring &ring) : ring(ring) {}

  /// Reads exactly as many bytes. Errors as for RingWriter::write; DataLoss if the other side
  /// claims to have written more than fits.
  Expected<void> read(std::span<std::byte> data, const WaitPolicy &waitPolicy);

private:
  Expected<uint64_t> available() const;
  Expected<uint64_t> waitForMore(const WaitPolicy &waitPolicy);

  Ring &ring;
  uint64_t taken = 0;
  AdaptiveSpin spinChoice;
};

} // namespace treadle::sandbox
