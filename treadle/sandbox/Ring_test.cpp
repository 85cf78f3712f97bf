// Byte streams through a ring, and forged counters.
#include "treadle/sandbox/Ring.h"

#include "treadle/testing/TestExpected.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace treadle::sandbox {
namespace {

std::span<std::byte> bytesOf(std::vector<uint32_t> &numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

WaitPolicy patienceFor(std::chrono::milliseconds time) { return {.until = Clock::now() + time}; }

TEST(Ring, PassesMoreThanItHolds) {
  auto ring = std::make_unique<Ring>();
  std::vector<uint32_t> sent(Ring::capacity), received(sent.size());
  std::iota(sent.begin(), sent.end(), 7);
  std::thread writer([&] {
    RingWriter end(*ring);
    EXPECT_TRUE(end.write(bytesOf(sent), {}));
  });
  RingReader end(*ring);
  EXPECT_TRUE(end.read(bytesOf(received), {.spin = std::chrono::microseconds(5)}));
  writer.join();
  EXPECT_EQ(received, sent);
}

TEST(Ring, WakesSleepers) {
  auto ring = std::make_unique<Ring>();
  std::vector<uint32_t> received(1), sent = {5};
  std::thread reader([&] {
    RingReader end(*ring);
    EXPECT_TRUE(end.read(bytesOf(received), {.maxSleep = std::chrono::hours(1)}));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  RingWriter writer(*ring);
  EXPECT_TRUE(writer.write(bytesOf(sent), {}));
  reader.join();
  EXPECT_EQ(received[0], 5u);
}

TEST(Ring, WaitsTimeOut) {
  auto ring = std::make_unique<Ring>();
  std::vector<uint32_t> numbers(Ring::capacity);
  RingReader reader(*ring);
  EXPECT_FAILS(reader.read(bytesOf(numbers), patienceFor(std::chrono::milliseconds(10))),
               DeadlineExceeded, "timed out");
  RingWriter writer(*ring);
  EXPECT_FAILS(writer.write(bytesOf(numbers), patienceFor(std::chrono::milliseconds(10))),
               DeadlineExceeded, "timed out");
}

TEST(Ring, CheckEndsWait) {
  auto ring = std::make_unique<Ring>();
  std::vector<uint32_t> numbers(1);
  RingReader reader(*ring);
  WaitPolicy waitPolicy;
  waitPolicy.check = [] { return Expected<void>(Unexpected(unavailable("gone"))); };
  EXPECT_FAILS(reader.read(bytesOf(numbers), waitPolicy), Unavailable, "gone");
}

TEST(Ring, ForgedWriteCount) {
  auto ring = std::make_unique<Ring>();
  std::vector<uint32_t> numbers(1);
  for (uint64_t claim : {Ring::capacity + 1, ~uint64_t{0}}) {
    ring->written.store(claim);
    RingReader reader(*ring);
    EXPECT_FAILS(reader.read(bytesOf(numbers), {}), DataLoss, "beyond the free space");
  }
}

TEST(Ring, ForgedReaderCount) {
  auto ring = std::make_unique<Ring>();
  std::vector<uint32_t> numbers(1);
  for (uint64_t claim : {uint64_t{1}, ~uint64_t{0} >> 1}) {
    ring->read.store(claim);
    RingWriter writer(*ring);
    EXPECT_FAILS(writer.write(bytesOf(numbers), {}), DataLoss, "beyond the written data");
  }
}

} // namespace
} // namespace treadle::sandbox
