// Per-thread slots.
#include "treadle/tensor/ThreadSlots.h"

#include <gtest/gtest.h>

#include <barrier>
#include <set>
#include <vector>

namespace treadle {
namespace {

/// Runs `body(i)` on `count` threads that are alive at the same time.
template <typename Body> void onThreads(int count, Body body) {
  std::barrier all(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      all.arrive_and_wait();
      body(i);
      all.arrive_and_wait();
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ThreadSlots, ThreadsHaveNumbersOfTheirOwn) {
  for (int round = 0; round < 20; ++round) { // threads that ended free their numbers
    std::vector<int> numbers(20);
    onThreads(20, [&](int i) { numbers[static_cast<size_t>(i)] = threadNumber(); });
    EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), 20U);
  }
}

TEST(ThreadSlots, MoreThreadsThanNumbersShareThem) {
  constexpr int count = 2 * maxThreadSlots;
  std::vector<int> numbers(count);
  onThreads(count, [&](int i) { numbers[static_cast<size_t>(i)] = threadNumber(); });
  for (int number : numbers)
    EXPECT_TRUE(number >= 0 && number < maxThreadSlots) << number;
}

TEST(ThreadSlots, HeldSlotsAreExclusive) {
  ThreadSlots<int> slots;
  {
    auto held = slots.tryTake(3);
    ASSERT_TRUE(held);
    EXPECT_FALSE(slots.tryTake(3));
    EXPECT_TRUE(slots.tryTake(4));
    *held = 5;
  }
  auto again = slots.tryTake(3);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, 5);
}

TEST(ThreadSlots, VisitsAllUsedSlots) {
  ThreadSlots<int> slots;
  slots.forEach([](int) { FAIL() << "none was used"; });
  for (int i : {0, 7, maxThreadSlots - 1})
    *slots.take(i) = 1;
  int sum = 0;
  slots.forEach([&](int value) { sum += value; });
  EXPECT_EQ(sum, 3);
}

TEST(ThreadSlots, ManyThreadsCountInThem) {
  constexpr int count = maxThreadSlots + 8, each = 500; // some threads share a number
  ThreadSlots<int> slots;
  onThreads(count, [&](int) {
    for (int i = 0; i < each; ++i)
      ++*slots.take();
  });
  int sum = 0;
  slots.forEach([&](int value) { sum += value; });
  EXPECT_EQ(sum, count * each);
}

TEST(OwnShare, KeepsTheObject) {
  auto object = std::make_shared<int>(7);
  std::shared_ptr<int> share = shareWithOwnCount(object);
  std::shared_ptr<int> copy = share;
  EXPECT_EQ(object.use_count(), 2) << "copies of a share are counted by it";
  std::weak_ptr<int> watch = object;
  object.reset();
  share.reset();
  EXPECT_EQ(*copy, 7);
  copy.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_FALSE(shareWithOwnCount(std::shared_ptr<int>()));
}

} // namespace
} // namespace treadle
