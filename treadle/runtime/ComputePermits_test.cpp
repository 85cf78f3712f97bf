// Tests of compute permits: at most one per core is held, and none is lost.
#include "treadle/runtime/ComputePermits.h"

#include "treadle/runtime/Cores.h"
#include "treadle/runtime/Run.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace treadle {
namespace {

/// Runs `body` on `count` threads, each with its own run.
template <typename Body> void onThreads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      ResourceManager resources;
      RunState run(resources, nullptr);
      body(run);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ComputePermits, NoMoreThanThereAreCores) {
  std::atomic<int> now{0}, most{0}, taken{0};
  onThreads(availableCores() + 6, [&](RunState &run) {
    for (int i = 0; i < 200; ++i) {
      ComputePermit runPermit(run);
      int count = ++now;
      for (int known = most; count > known && !most.compare_exchange_weak(known, count);)
        ;
      ++taken;
      std::this_thread::yield();
      --now;
    }
  });
  EXPECT_EQ(taken, 200 * (availableCores() + 6));
  EXPECT_LE(most, availableCores());
}

TEST(ComputePermits, AThreadThatHasOneNeedsNoOther) {
  onThreads(availableCores() + 2, [](RunState &run) {
    ComputePermit runPermit(run);
    for (int i = 0; i < 3; ++i)
      ComputePermit nested(run);
  });
}

TEST(ComputePermits, ARunThatIsStoppedWaitsNoLonger) {
  ResourceManager resources;
  std::atomic<bool> mayEnd{false};
  std::atomic<int> holding{0};
  std::vector<std::thread> holders;
  for (int i = 0; i < availableCores(); ++i)
    holders.emplace_back([&] {
      RunState run(resources, nullptr);
      ComputePermit runPermit(run);
      ++holding;
      mayEnd.wait(false);
    });
  while (holding < availableCores())
    std::this_thread::yield();
  RunState run(resources, nullptr);
  std::thread stopper([&] { run.stop(cancelled("enough")); });
  ComputePermit runPermit(run); // returns without a permit
  stopper.join();
  mayEnd = true;
  mayEnd.notify_all();
  for (std::thread &holder : holders)
    holder.join();
  onThreads(availableCores(), [](RunState &run) { ComputePermit runPermit(run); }); // none was lost
}

} // namespace
} // namespace treadle
