// multiplyFewRows against the definition, for all numbers of rows and column remainders.
#include "treadle/kernels/products/FewRows.h"

#include "gtest/gtest.h"

#include <random>
#include <vector>

namespace treadle {
namespace {

template <typename T> void expectProduct(int64_t m, int64_t k, int64_t n) {
  std::mt19937 random(static_cast<unsigned>(m * 1000 + k * 100 + n));
  std::uniform_int_distribution<int> small(-8, 8); // so that sums are exact
  std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  std::vector<T> out(static_cast<size_t>(m * n), T(99)), expected(out.size());
  for (T &x : a)
    x = static_cast<T>(small(random));
  for (T &x : b)
    x = static_cast<T>(small(random));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t l = 0; l < k; ++l)
        expected[static_cast<size_t>(i * n + j)] +=
            a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
  ASSERT_TRUE(multiplyFewRows({m, k, n, false, false}, a.data(), b.data(), out.data()));
  EXPECT_EQ(out, expected) << m << " x " << k << " x " << n;
}

TEST(FewRows, GivesTheProduct) {
  for (int64_t m = 1; m <= 6; ++m)
    for (int64_t k : {1, 2, 7, 33})
      for (int64_t n : {8, 9, 16, 31, 64, 77, 130}) {
        expectProduct<float>(m, k, n);
        expectProduct<double>(m, k, n);
      }
}

TEST(FewRows, LeavesOtherShapesAlone) {
  const float x[64] = {};
  float out[64] = {};
  EXPECT_FALSE(multiplyFewRows({7, 1, 8, false, false}, x, x, out));
  EXPECT_FALSE(multiplyFewRows({2, 1, 8, true, false}, x, x, out));
  EXPECT_FALSE(multiplyFewRows({2, 1, 8, false, true}, x, x, out));
  EXPECT_FALSE(multiplyFewRows({2, 1, 3, false, false}, x, x, out));
}

} // namespace
} // namespace treadle
