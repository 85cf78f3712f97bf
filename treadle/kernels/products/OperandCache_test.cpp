// OperandCache: forms that threads find concurrently match the operand.
#include "treadle/kernels/products/OperandCache.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace treadle {
namespace {

/// The form of an operand with one number: the number.
class Numbers {
public:
  std::shared_ptr<const float> find(const Tensor &operand) const {
    return kept.find(operand, [&] {
      ++made;
      return std::make_shared<const float>(*operand.data<float>());
    });
  }
  mutable std::atomic<int> made{0};

private:
  OperandCache<float> kept;
};

Tensor number(float value) { return Tensor::scalar<float>(DType::Float32, value); }

TEST(OperandCache, EntriesAreSharedByThreads) {
  Numbers numbers;
  Tensor seven = number(7);
  EXPECT_FALSE(numbers.find(seven));
  ASSERT_TRUE(numbers.find(seven));
  std::thread([&] {
    std::shared_ptr<const float> found = numbers.find(seven);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, 7);
  }).join();
  EXPECT_EQ(numbers.made, 1);
}

TEST(OperandCache, FormsAreCountedByEachThread) {
  Numbers numbers;
  Tensor seven = number(7);
  numbers.find(seven);
  std::shared_ptr<const float> here = numbers.find(seven), there;
  std::thread([&] { there = numbers.find(seven); }).join();
  EXPECT_EQ(here.get(), there.get());
  EXPECT_TRUE(here.owner_before(there) || there.owner_before(here)) << "they share a count";
}

TEST(OperandCache, UnsuitableFormsAreReplaced) {
  OperandCache<float> kept;
  Tensor seven = number(7);
  auto find = [&](float wanted) {
    return kept.find(
        seven, [&](const float &form) { return form == wanted; },
        [&] { return std::make_shared<const float>(wanted); });
  };
  find(1);
  EXPECT_EQ(*find(1), 1);
  EXPECT_EQ(*find(2), 2);
  EXPECT_EQ(*find(2), 2);
}

TEST(OperandCache, FormsMatchTheirOperands) {
  for (int round = 0; round < 20; ++round) {
    Numbers numbers;
    Tensor common = number(5);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 300; ++i) {
          // Some threads use operands of their own, which may be allocated in evicted blocks.
          Tensor operand = t == 0 && i % 50 > 40 ? number(static_cast<float>(i)) : common;
          for (int k = 0; k < 3; ++k)
            if (std::shared_ptr<const float> found = numbers.find(operand))
              ASSERT_EQ(*found, *operand.data<float>());
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

} // namespace
} // namespace treadle
