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

class ComplexProductTest : public testing::TestWithParam<std::array<int64_t, 3>> {};

/// Products of small integers are exact.
template <typename T> void expectProducts(int64_t m, int64_t k, int64_t n) {
  auto numbers = [](int64_t count, int64_t step) {
    std::vector<T> made;
    for (int64_t i = 0; i < count; ++i)
      made.emplace_back(i * step % 5 - 2, i * (step + 2) % 7 - 3);
    return made;
  };
  std::vector<T> a = numbers(m * k, 3), b = numbers(k * n, 4);
  for (bool turnsLeft : {false, true})
    for (bool turnsRight : {false, true}) {
      std::vector<T> expected(static_cast<size_t>(m * n));
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          for (int64_t l = 0; l < k; ++l)
            expected[i * n + j] += (turnsLeft ? std::conj(a[l * m + i]) : a[i * k + l]) *
                                   (turnsRight ? std::conj(b[j * k + l]) : b[l * n + j]);
      auto dims = [](bool turns, int64_t rows, int64_t columns) {
        return turns ? std::vector{columns, rows} : std::vector{rows, columns};
      };
      AttrMap attrs;
      attrs.set("adj_x", turnsLeft);
      attrs.set("adj_y", turnsRight);
      Tensor product = run1("BatchMatMulV2",
                            {tensor(dims(turnsLeft, m, k), a), tensor(dims(turnsRight, k, n), b)},
                            DType::Invalid, attrs);
      EXPECT_EQ(values<T>(product), expected) << turnsLeft << turnsRight;
    }
}

TEST_P(ComplexProductTest, IsExactForIntegers) {
  auto [m, k, n] = GetParam();
  expectProducts<Complex64>(m, k, n);
  expectProducts<Complex128>(m, k, n);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ComplexProductTest,
                         testing::Values(std::array<int64_t, 3>{1, 1, 1},
                                         std::array<int64_t, 3>{3, 4, 1},
                                         std::array<int64_t, 3>{1, 9, 5},
                                         std::array<int64_t, 3>{5, 6, 7},
                                         std::array<int64_t, 3>{40, 33, 50}));

} // namespace
} // namespace treadle
