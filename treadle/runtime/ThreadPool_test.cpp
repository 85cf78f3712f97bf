// Tests of the pool: each range runs once, calls nest, callers share, exceptions are rethrown.
#include "treadle/runtime/ThreadPool.h"

#include "treadle/runtime/Cores.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>

namespace treadle {
namespace {

TEST(ThreadPool, DoesQueuedWorkBeforeItGoes) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool(3);
    for (int i = 0; i < 1000; ++i)
      pool.schedule([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

class ParallelFor : public testing::TestWithParam<int> {};

TEST_P(ParallelFor, CoversEachIndexOnce) {
  ThreadPool pool(GetParam());
  for (int64_t total : {0, 1, 2, 7, 64, 1000, 10007}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(total));
    pool.parallelFor(total, 3, [&](int64_t begin, int64_t end) {
      EXPECT_LT(begin, end);
      for (int64_t i = begin; i < end; ++i)
        ++seen[static_cast<size_t>(i)];
    });
    for (const auto &count : seen)
      ASSERT_EQ(count, 1) << "of " << total;
  }
}

TEST_P(ParallelFor, CoversEachIndexOnceWithThoseWhoLook) {
  ThreadPool pool(GetParam());
  for (int repeat = 0; repeat < 2000; ++repeat) {
    std::array<std::atomic<int>, 8> seen = {};
    pool.parallelForSpinning(8, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        ++seen[static_cast<size_t>(i)];
    });
    for (const auto &count : seen)
      ASSERT_EQ(count, 1);
    if (repeat % 100 == 0) // sleeping workers wake up and spin again
      pool.parallelFor(8, 1, [](int64_t, int64_t) {});
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, ParallelFor, testing::Values(0, 1, 3));

TEST(ThreadPool, KeepsRangesAsLongAsTheGrain) {
  ThreadPool pool(3);
  std::atomic<int> ranges = 0;
  pool.parallelFor(100, 40, [&](int64_t begin, int64_t end) {
    EXPECT_GE(end - begin, 40);
    ++ranges;
  });
  EXPECT_EQ(ranges, availableCores() > 1 ? 2 : 1);
}

TEST(ThreadPool, LeavesCoresToOtherCallers) {
  ThreadPool pool(3);
  const std::thread::id here = std::this_thread::get_id();
  std::vector<std::thread> callers;
  std::atomic<int> computing = 0;
  std::atomic<bool> mayEnd = false;
  for (int i = 0; i < availableCores(); ++i)
    callers.emplace_back([&] {
      ComputeScope call;
      ++computing;
      mayEnd.wait(false);
    });
  while (computing < availableCores())
    std::this_thread::yield();
  EXPECT_LE(pool.freeCores(), 0);
  for (int i = 0; i < 100; ++i)
    pool.parallelFor(8, 1, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
  mayEnd = true;
  mayEnd.notify_all();
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, WorkersStayOnTheirCores) {
  const std::vector<int> cores{allowedCores().back()};
  ThreadPool pool(2, cores);
  std::atomic<int> seen = 0;
  for (int i = 0; i < 4; ++i)
    pool.schedule([&] {
      EXPECT_EQ(allowedCores(), cores);
      ++seen;
      seen.notify_all();
    });
  for (int count; (count = seen) < 4;)
    seen.wait(count);
}

TEST(ThreadPool, NestedAndConcurrentCallsEnd) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum = 0;
  auto nested = [&] {
    pool.parallelFor(20, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        pool.parallelFor(10, 1, [&](int64_t b, int64_t e) { sum += e - b; });
    });
  };
  std::vector<std::thread> callers;
  callers.reserve(3);
  for (int i = 0; i < 3; ++i)
    callers.emplace_back(nested);
  for (std::thread &t : callers)
    t.join();
  EXPECT_EQ(sum, 3 * 20 * 10);
}

TEST(ThreadPool, SeveralCallersHandWorkToThoseWhoLook) {
  ThreadPool pool(1); // spins if there are two cores
  std::atomic<int64_t> sum = 0;
  auto call = [&] {
    for (int i = 0; i < 500; ++i)
      pool.parallelForSpinning(4, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(sum, 2 * 500 * 4);
}

TEST(ThreadPool, WhatABodyThrowsReachesTheCaller) {
  ThreadPool pool(2);
  std::atomic<int> ranges = 0;
  auto body = [&](int64_t begin, int64_t) {
    ++ranges;
    if (begin % 2 == 0)
      throw std::runtime_error("no");
  };
  for (int i = 0; i < 20; ++i)
    EXPECT_THROW(pool.parallelFor(10, 1, body), std::runtime_error);
  EXPECT_GE(ranges, 20);
  pool.parallelFor(10, 1, [](int64_t, int64_t) {}); // still usable
}

} // namespace
} // namespace treadle
