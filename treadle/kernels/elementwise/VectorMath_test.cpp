// The functions of VectorMath.h against the standard library's in double.
#include "treadle/kernels/elementwise/VectorMath.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <typename Fn, typename Exact>
void expectClose(Fn fn, Exact exact, double from, double to, double relative) {
  for (int i = 0; i <= 20000; ++i) {
    auto x = static_cast<float>(from + (to - from) * i / 20000);
    double expected = exact(static_cast<double>(x));
    // Plus half a unit of the smallest denormal, for denormal results.
    ASSERT_NEAR(fn(x), expected, relative * std::abs(expected) + 1.5e-45) << "at " << x;
  }
}

TEST(VectorMath, Exp) {
  expectClose(vectorExp, [](double x) { return std::exp(x); }, -87, 88.7, 2e-7);
  expectClose(vectorExp, [](double x) { return std::exp(x); }, -106, -87, 2e-7);
  EXPECT_EQ(vectorExp(0), 1);
  EXPECT_EQ(vectorExp(89), inf);
  EXPECT_EQ(vectorExp(inf), inf);
  EXPECT_EQ(vectorExp(-inf), 0);
  EXPECT_EQ(vectorExp(-1e30f), 0);
  EXPECT_TRUE(std::isnan(vectorExp(nan)));
}

TEST(VectorMath, Expm1) {
  auto exact = [](double x) { return std::expm1(x); };
  expectClose(vectorExpm1, exact, -20, 88.7, 3e-7);
  expectClose(vectorExpm1, exact, -1, 1, 3e-7);
  expectClose(vectorExpm1, exact, -1e-4, 1e-4, 3e-7);
  EXPECT_EQ(vectorExpm1(89), inf);
  EXPECT_EQ(vectorExpm1(inf), inf);
  EXPECT_EQ(vectorExpm1(-inf), -1);
  EXPECT_EQ(vectorExpm1(-100), -1);
  EXPECT_TRUE(std::signbit(vectorExpm1(-0.0f)));
  EXPECT_TRUE(std::isnan(vectorExpm1(nan)));
}

TEST(VectorMath, Log1p) {
  auto exact = [](double x) { return std::log1p(x); };
  expectClose(vectorLog1p, exact, -0.999, 10, 4e-7);
  expectClose(vectorLog1p, exact, -0.01, 0.01, 4e-7);
  expectClose(vectorLog1p, exact, -1e-4, 1e-4, 3e-7);
  expectClose(vectorLog1p, exact, 10, 1e30, 3e-7);
  EXPECT_EQ(vectorLog1p(inf), inf);
  EXPECT_EQ(vectorLog1p(-1), -inf);
  EXPECT_TRUE(std::isnan(vectorLog1p(-2)));
  EXPECT_TRUE(std::isnan(vectorLog1p(nan)));
  EXPECT_TRUE(std::signbit(vectorLog1p(-0.0f)));
}

TEST(VectorMath, SinCos) {
  for (int i = 0; i <= 20000; ++i) {
    auto x = static_cast<float>(6.2831853 * i / 20000);
    float sine, cosine;
    vectorSinCos(x, sine, cosine);
    ASSERT_NEAR(sine, std::sin(static_cast<double>(x)), 1e-7) << x;
    ASSERT_NEAR(cosine, std::cos(static_cast<double>(x)), 1e-7) << x;
  }
}

TEST(VectorMath, Atan) {
  auto exact = [](double x) { return std::atan(x); };
  expectClose(vectorAtan, exact, -5, 5, 3e-7);
  expectClose(vectorAtan, exact, -1e9, 1e9, 3e-7);
  EXPECT_FLOAT_EQ(vectorAtan(inf), 1.57079633f);
  EXPECT_FLOAT_EQ(vectorAtan(-inf), -1.57079633f);
  EXPECT_TRUE(std::signbit(vectorAtan(-0.0f)));
  EXPECT_TRUE(std::isnan(vectorAtan(nan)));
}

TEST(VectorMath, Sigmoids) {
  auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  expectClose(vectorLogistic, logistic, -87, 20, 3e-7);
  expectClose(vectorTanh, [](double x) { return std::tanh(x); }, -12, 12, 3e-7);
  expectClose(vectorTanh, [](double x) { return std::tanh(x); }, -0.7, 0.7, 3e-7);
  for (float x : {inf, 1e30f}) {
    EXPECT_EQ(vectorLogistic(x), 1);
    EXPECT_EQ(vectorLogistic(-x), 0);
    EXPECT_EQ(vectorTanh(x), 1);
    EXPECT_EQ(vectorTanh(-x), -1);
  }
  EXPECT_EQ(vectorLogistic(0), 0.5f);
  EXPECT_TRUE(std::signbit(vectorTanh(-0.0f)));
  EXPECT_TRUE(std::isnan(vectorLogistic(nan)));
  EXPECT_TRUE(std::isnan(vectorTanh(nan)));
}

TEST(VectorMath, ErrorFunctions) {
  expectClose(vectorErf, [](double x) { return std::erf(x); }, -5, 5, 3e-7);
  expectClose(vectorErfc, [](double x) { return std::erfc(x); }, -5, 0.5, 3e-7);
  expectClose(vectorErfc, [](double x) { return std::erfc(x); }, 0.5, 9, 2e-6);
  expectClose(vectorErfc, [](double x) { return std::erfc(x); }, 9, 11, 1e-4); // denormal
  for (float x : {inf, 1e30f}) {
    EXPECT_EQ(vectorErf(x), 1);
    EXPECT_EQ(vectorErf(-x), -1);
    EXPECT_EQ(vectorErfc(x), 0);
    EXPECT_EQ(vectorErfc(-x), 2);
  }
  EXPECT_EQ(vectorErf(0), 0);
  EXPECT_EQ(vectorErfc(0), 1);
  EXPECT_TRUE(std::signbit(vectorErf(-0.0f)));
  EXPECT_TRUE(std::isnan(vectorErf(nan)));
  EXPECT_TRUE(std::isnan(vectorErfc(nan)));
}

TEST(VectorMath, SumsAndMaxima) {
  for (int64_t n : {0, 1, 15, 16, 17, 40}) {
    std::vector<float> x(static_cast<size_t>(n)), out(x.size());
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i * 7 % 11);
      sum += std::exp(x[i] - 10.0);
    }
    EXPECT_EQ(largestOf(x.data(), n), n ? *std::max_element(x.begin(), x.end()) : -inf);
    EXPECT_NEAR(expAndSum(x.data(), 10, out.data(), n), sum, 1e-6 * sum);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(out[i], vectorExp(x[i] - 10));
  }
}

} // namespace
} // namespace treadle
