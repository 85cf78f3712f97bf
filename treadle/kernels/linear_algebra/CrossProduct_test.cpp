// Cross products of three-dimensional vectors.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

TEST(CrossProductTest, AlongTheLastDimension) {
  Tensor a = tensor<float>({2, 3}, {1, 0, 0, 1, 2, 3}),
         b = tensor<float>({2, 3}, {0, 1, 0, 4, 5, 6});
  EXPECT_EQ(values<float>(run1("Cross", {a, b})), (std::vector<float>{0, 0, 1, -3, 6, -3}));
  Tensor bytes = vec<int8_t>({100, 100, 100}), twice = vec<int8_t>({2, 3, 4});
  EXPECT_EQ(values<int8_t>(run1("Cross", {bytes, twice})), (std::vector<int8_t>{100, 56, 100}));
  EXPECT_EQ(errorClassOf("Cross", {a, bytes}), "InvalidArgumentError");
  Tensor pair = vec<float>({1, 2});
  EXPECT_EQ(errorClassOf("Cross", {pair, pair}), "FailedPreconditionError");
}

} // namespace
} // namespace treadle
