#include "treadle/sandbox/Ring.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

long futex(std::atomic<uint32_t> &word, int operation, uint32_t value, const timespec *timeout) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, value, timeout, nullptr,
                 0);
}

/// Reading the clock is more expensive than polling.
constexpr int spinsPerClockRead = 16;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

using Count = std::function<Expected<uint64_t>()>;

/// Spins until `count` returns nonzero or the time is over.
Expected<uint64_t> spinFor(std::chrono::nanoseconds time, const Count &count) {
  for (auto end = Clock::now() + time; Clock::now() < end;)
    for (int i = 0; i < spinsPerClockRead; ++i, pause()) {
      uint64_t found = TREADLE_TRY(count());
      if (found)
        return found;
    }
  return 0;
}

/// Sleeps until `count` returns nonzero.
Expected<uint64_t> sleepFor(EventCount &bell, const WaitPolicy &waitPolicy, const Count &count) {
  for (;;) {
    uint32_t seen = bell.rings.load();
    bell.sleepers.store(1);
    uint64_t found = TREADLE_TRY(count());
    if (found)
      return found;
    TREADLE_TRY(waitPolicy.check());
    if (Clock::now() >= waitPolicy.until)
      return Unexpected(deadlineExceeded("the other process timed out"));
    bell.sleep(seen, std::min(waitPolicy.until - Clock::now(), waitPolicy.maxSleep));
  }
}

/// Returns the contiguous part of a ring from a position in the stream, at most to the ring's end.
std::span<std::byte> partAt(Ring &ring, uint64_t place, uint64_t size) {
  uint64_t at = place % Ring::capacity;
  return {ring.bytes + at, std::min(size, Ring::capacity - at)};
}

} // namespace

void EventCount::ring() {
  rings.fetch_add(1);
  if (sleepers.load() && sleepers.exchange(0))
    futex(rings, FUTEX_WAKE, INT_MAX, nullptr);
}

void EventCount::ringAll() {
  rings.fetch_add(1);
  futex(rings, FUTEX_WAKE, INT_MAX, nullptr);
}

void EventCount::sleep(uint32_t seen, Clock::duration most) {
  if (most.count() <= 0)
    return;
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  timespec timeout = {.tv_sec = seconds.count(), .tv_nsec = (most - seconds).count()};
  futex(rings, FUTEX_WAIT, seen, &timeout);
}

Expected<uint64_t> RingWriter::room() const {
  uint64_t used = written - ring.read.load(std::memory_order_acquire);
  if (used > Ring::capacity)
    return Unexpected(dataLoss("the other process read beyond the written data"));
  return Ring::capacity - used;
}

Expected<void> RingWriter::write(std::span<const std::byte> data, const WaitPolicy &waitPolicy) {
  while (!data.empty()) {
    uint64_t free = TREADLE_TRY(sleepFor(ring.forWriter, waitPolicy, [&] { return room(); }));
    std::span<std::byte> part = partAt(ring, written, std::min<uint64_t>(free, data.size()));
    std::memcpy(part.data(), data.data(), part.size());
    written += part.size();
    ring.written.store(written, std::memory_order_release);
    ring.forReader.ring();
    data = data.subspan(part.size());
  }
  return {};
}

Expected<uint64_t> RingReader::available() const {
  uint64_t ready = ring.written.load(std::memory_order_acquire) - taken;
  if (ready > Ring::capacity)
    return Unexpected(dataLoss("the other process wrote beyond the free space"));
  return ready;
}

Expected<uint64_t> RingReader::waitForMore(const WaitPolicy &waitPolicy) {
  auto count = [this] { return available(); };
  uint64_t ready = TREADLE_TRY(count());
  if (ready == 0 && waitPolicy.spin.count() > 0 && spinChoice.next()) {
    ready = TREADLE_TRY(spinFor(waitPolicy.spin, count));
    spinChoice.learn(ready == 0);
  }
  return ready ? ready : sleepFor(ring.forReader, waitPolicy, count);
}

Expected<void> RingReader::read(std::span<std::byte> data, const WaitPolicy &waitPolicy) {
  while (!data.empty()) {
    uint64_t ready = TREADLE_TRY(waitForMore(waitPolicy));
    std::span<std::byte> part = partAt(ring, taken, std::min<uint64_t>(ready, data.size()));
    std::memcpy(data.data(), part.data(), part.size());
    taken += part.size();
    ring.read.store(taken, std::memory_order_release);
    ring.forWriter.ring();
    data = data.subspan(part.size());
  }
  return {};
}

} // namespace treadle::sandbox
