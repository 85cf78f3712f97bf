// Tests of the mode for denormal numbers: scopes, and the threads that work for a thread.
#include "treadle/runtime/DenormalScope.h"

#include "treadle/runtime/ThreadPool.h"
#include "treadle/runtime/WaitingThreads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <thread>

namespace treadle {
namespace {

bool flushes() {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float denormal = std::numeric_limits<float>::denorm_min();
  volatile float result = smallest * 0.5F, operand = denormal * 0x1p60F;
  EXPECT_EQ(result == 0, operand == 0);
  return result == 0;
}

TEST(DenormalScope, RestoresTheMode) {
  EXPECT_FALSE(flushes());
  {
    DenormalScope outer(Denormals::Flush);
    EXPECT_TRUE(flushes());
    EXPECT_EQ(DenormalScope::current(), Denormals::Flush);
    {
      DenormalScope inner(Denormals::Keep);
      EXPECT_FALSE(flushes());
    }
    EXPECT_TRUE(flushes());
  }
  EXPECT_FALSE(flushes());
  EXPECT_EQ(DenormalScope::current(), Denormals::Keep);
}

#ifdef __x86_64__
TEST(DenormalScope, RestoresTheControlRegister) {
  unsigned before = _mm_getcsr();
  {
    DenormalScope scope(Denormals::Flush);
    volatile float smallest = std::numeric_limits<float>::min();
    volatile float inexact = smallest * 0.3F; // sets flags of the register
    EXPECT_EQ(inexact, 0);
  }
  EXPECT_EQ(_mm_getcsr(), before);
}
#endif

TEST(DenormalScope, PoolsWorkInTheModeOfTheirCaller) {
  ThreadPool pool(3);
  auto countFlushing = [&] {
    std::atomic<int> flushing = 0;
    pool.parallelFor(64, 1, [&](int64_t begin, int64_t end) {
      std::this_thread::sleep_for(std::chrono::microseconds(100)); // workers join in
      flushing += flushes() ? static_cast<int>(end - begin) : 0;
    });
    return flushing.load();
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(countFlushing(), 0);
    DenormalScope scope(Denormals::Flush);
    EXPECT_EQ(countFlushing(), 64);
    std::promise<bool> scheduled;
    pool.schedule([&] { scheduled.set_value(flushes()); });
    EXPECT_TRUE(scheduled.get_future().get());
  }
}

TEST(DenormalScope, WaitingThreadsRunTasksInTheModeOfTheirCaller) {
  for (Denormals mode : {Denormals::Flush, Denormals::Keep, Denormals::Flush}) {
    DenormalScope scope(mode);
    std::promise<bool> seen;
    ASSERT_TRUE(WaitingThreads::run([&] { seen.set_value(flushes()); }));
    EXPECT_EQ(seen.get_future().get(), mode == Denormals::Flush);
  }
}

} // namespace
} // namespace treadle
