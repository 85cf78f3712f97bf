#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

// As large as float matrices that are packed.
TEST(MatMul, OperandsOfOtherTypesThanTheProduct) {
  std::vector<int8_t> left(20, 2);
  std::vector<BFloat16> right(20 * 18, BFloat16(.5f)), small(20, BFloat16(2));
  Tensor product =
      run1("BatchMatMulV3", {tensor({1, 20}, left), tensor({20, 18}, right)}, DType::BFloat16);
  EXPECT_EQ(values<BFloat16>(product), std::vector<BFloat16>(18, BFloat16(20)));
  Tensor wide =
      run1("BatchMatMulV3", {tensor({1, 20}, small), tensor({20, 18}, right)}, DType::Float32);
  EXPECT_EQ(values<float>(wide), std::vector<float>(18, 20));
}

} // namespace
} // namespace treadle
