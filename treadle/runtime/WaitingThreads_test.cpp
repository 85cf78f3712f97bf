#include "treadle/runtime/WaitingThreads.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace treadle {
namespace {

/// A counter; threads can wait for it to reach a value.
class Counter {
public:
  void add() {
    std::lock_guard lock(mutex);
    ++count;
    changed.notify_all();
  }
  void waitFor(int wanted) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return count >= wanted; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
};

TEST(WaitingThreads, ManyMayWaitForEachOther) {
  constexpr int tasks = 40;
  Counter arrived, done;
  for (int i = 0; i < tasks; ++i)
    ASSERT_TRUE(WaitingThreads::run([&] {
      arrived.add();
      arrived.waitFor(tasks);
      done.add();
    }));
  done.waitFor(tasks);
}

TEST(WaitingThreads, TasksMayStartOthers) {
  Counter done;
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(WaitingThreads::run([&] {
      EXPECT_TRUE(WaitingThreads::run([&] { done.add(); }));
      done.add();
    }));
  done.waitFor(40);
}

} // namespace
} // namespace treadle
