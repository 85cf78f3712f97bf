// Mutexes: one holder at a time, until the last reference to the lock goes.
#include "treadle/testing/KernelTest.h"

#include <atomic>
#include <thread>

namespace treadle {
namespace {

Tensor lock(const Tensor &mutex) { return run1("MutexLock", {mutex}, DType::Variant); }

TEST(Mutex, isFreeOnceTheLastReferenceGoes) {
  Tensor mutex = run1("MutexV2", {}, DType::Resource);
  Tensor held = lock(mutex), same = held;
  std::atomic<bool> isLocked = false;
  std::thread other([&] {
    Tensor its = lock(mutex);
    isLocked = true;
  });
  held.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(isLocked);
  same.reset();
  other.join();
  EXPECT_TRUE(isLocked);
  EXPECT_TRUE(lock(mutex)); // it is unlocked
}

TEST(Mutex, countsRightUnderContention) {
  Tensor mutex = run1("MutexV2", {}, DType::Resource);
  int count = 0;
  auto work = [&, mutex] {
    for (int i = 0; i < 200; ++i) {
      Tensor held = lock(mutex);
      ++count;
    }
  };
  std::thread a(work), b(work), c(work);
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(count, 600);
}

TEST(Mutex, consumingReleases) {
  Tensor mutex = run1("MutexV2", {}, DType::Resource);
  auto consumed = runOp(builtinKernels(), "ConsumeMutexLock", {}, {lock(mutex)}, {});
  EXPECT_TRUE(consumed);
  EXPECT_TRUE(lock(mutex));
  EXPECT_FALSE(
      runOp(builtinKernels(), "ConsumeMutexLock", {}, {Tensor::makeScalar(DType::Variant)}, {}));
}

} // namespace
} // namespace treadle
