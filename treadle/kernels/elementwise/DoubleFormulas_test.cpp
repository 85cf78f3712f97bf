// The functions of DoubleFormulas.h against the standard library's in extended precision.
#include "treadle/kernels/elementwise/DoubleFormulas.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

using formulas::DoubleArithmetic;
using Exact = long double;

/// Returns the distance from the true value in units in the last place.
double ulps(double found, Exact expected) {
  auto rounded = static_cast<double>(expected);
  if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0)
    return found == rounded || (std::isnan(rounded) && std::isnan(found)) ? 0 : INFINITY;
  int exponent;
  std::frexp(expected, &exponent);
  return static_cast<double>(std::fabs(static_cast<Exact>(found) - expected) /
                             std::ldexp(Exact(1), std::max(exponent - 53, -1074)));
}

/// Numbers of all magnitudes, and many in [-30, 30].
std::vector<double> numbers() {
  std::vector<double> values = {0.0,    -0.0,   INFINITY, -INFINITY,  NAN,
                                1,      -1,     5e-324,   0x1.fp1023, 1e308,
                                -1e308, 709.78, -745.13,  -708.4,     0.4375};
  for (int i = -1070; i <= 1020; ++i)
    for (double mantissa : {1.0, 1.2, 1.37, 1.9})
      for (double sign : {1.0, -1.0})
        values.push_back(std::ldexp(sign * mantissa, i));
  for (int i = -40'000; i <= 40'000; ++i)
    values.push_back(i * 7.4991e-4);
  return values;
}

template <typename Formula, typename Function>
void expectWithin(double most, Formula formula, Function exact) {
  double worst = 0, at = 0;
  for (double x : numbers()) {
    double found = formula(x);
    if (double distance = ulps(found, exact(static_cast<Exact>(x))); !(distance <= worst)) {
      worst = distance;
      at = x;
    }
    if (x == 0 && exact(Exact(x)) == 0)
      EXPECT_EQ(std::signbit(found), std::signbit(x));
  }
  EXPECT_LE(worst, most) << "at " << at;
}

#define TREADLE_TEST_FORMULA(Name, name, most)                                                     \
  TEST(DoubleFormulas, Name) {                                                                     \
    expectWithin(                                                                                  \
        most,                                                                                      \
        [](double x) {                                                                             \
          DoubleArithmetic a;                                                                      \
          return formulas::name(a, x);                                                             \
        },                                                                                         \
        [](Exact x) { return std::name(x); });                                                     \
  }
TREADLE_TEST_FORMULA(Exp, exp, 1.1)
TREADLE_TEST_FORMULA(Expm1, expm1, 2.5)
TREADLE_TEST_FORMULA(Tanh, tanh, 3)
TREADLE_TEST_FORMULA(Log, log, 1)
TREADLE_TEST_FORMULA(Log1p, log1p, 1.5)
TREADLE_TEST_FORMULA(Erf, erf, 1.2)
TREADLE_TEST_FORMULA(Erfc, erfc, 5)

TEST(DoubleFormulas, SinAndCos) {
  DoubleArithmetic a;
  for (double x : numbers()) {
    for (double scale : {1.0, 1e3, 1.7e4})
      if (double y = x * scale; std::fabs(y) <= formulas::mostReduced) {
        ASSERT_LE(ulps(formulas::sin(a, y), std::sin(Exact(y))), 1.1) << y;
        ASSERT_LE(ulps(formulas::cos(a, y), std::cos(Exact(y))), 1.1) << y;
      }
  }
  for (int i = -300'000; i <= 300'000; i += 7) { // next to the zeros
    double y = i * 1.57079632679489661923;
    ASSERT_LE(ulps(formulas::sin(a, y), std::sin(Exact(y))), 1.1) << y;
    ASSERT_LE(ulps(formulas::cos(a, y), std::cos(Exact(y))), 1.1) << y;
  }
  EXPECT_TRUE(std::signbit(formulas::sin(a, -0.0)));
}

TEST(DoubleFormulas, Pow) {
  DoubleArithmetic a;
  std::vector<double> exponents = {0,    -0.0, 1,   -1,   2,     3,        -3,        0.5,
                                   -0.5, 1.5,  7.3, 1e16, 1e300, INFINITY, -INFINITY, NAN};
  double worst = 0;
  for (double x : numbers()) {
    double log = std::log2(std::fabs(x));
    for (double result : {1023.9, -1022.5, -1060.3, 60.5})
      exponents.push_back(result / log);
    for (double y : exponents)
      if (double distance = ulps(formulas::pow(a, x, y), std::pow(Exact(x), Exact(y)));
          !(distance <= worst)) {
        worst = distance;
        EXPECT_LE(worst, 1) << x << " to the power of " << y;
      }
    exponents.resize(16);
  }
}

} // namespace
} // namespace treadle
