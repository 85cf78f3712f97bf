// Elementwise ops over tensors: how far from the true value they may be.
#include "treadle/codegen/CodegenTesting.h"

#include <cmath>

namespace treadle::codegen {
namespace {

struct Function {
  const char *op;
  double (*exact)(double);
};

class FloatMathTest : public CodegenTest, public testing::WithParamInterface<Function> {};

/// The distance in units in the last place of the true value.
double ulps(float found, double expected) {
  auto rounded = static_cast<float>(expected);
  if (std::isnan(expected) || std::isinf(rounded) || rounded == 0)
    return found == rounded || (std::isnan(expected) && std::isnan(found)) ? 0 : INFINITY;
  int exponent;
  std::frexp(std::fabs(expected), &exponent);
  return std::fabs(found - expected) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST_P(FloatMathTest, IsWithinFourUnitsInTheLastPlace) {
  auto [name, exact] = GetParam();
  // Numbers of all sizes, many between 2^-12 and 2^12; and what isn't a number.
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 88.73f, -88.73f};
  for (uint32_t bits = 0; bits < 0x7f800000; bits += 100003)
    for (uint32_t sign : {0u, 0x80000000u})
      values.push_back(std::bit_cast<float>(bits | sign));
  for (uint32_t bits = 0x39800000; bits < 0x45800000; bits += 2011)
    for (uint32_t sign : {0u, 0x80000000u})
      values.push_back(std::bit_cast<float>(bits | sign));
  std::string text = R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"})
                            -> (tensor<*xf32> {tfg.name = "y"}) {)" +
                     op("y", name, "%x", "T = f32", "(tensor<*xf32>) -> (tensor<*xf32>)") +
                     "return(%y) : tensor<*xf32> }";
  auto results = buildAndCall(text, {row(values)});
  ASSERT_EQ(results.size(), 1u);
  std::vector<float> found = floats(results[0]);
  double worst = 0;
  float worstAt = 0;
  for (size_t i = 0; i < values.size(); ++i)
    if (double distance = ulps(found[i], exact(values[i])); !(distance <= worst)) {
      worst = distance;
      worstAt = values[i];
    }
  EXPECT_LE(worst, 4) << name << " of " << worstAt;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }
double elu(double x) { return x < 0 ? std::expm1(x) : x; }
double rsqrt(double x) { return 1 / std::sqrt(x); }

INSTANTIATE_TEST_SUITE_P(Ops, FloatMathTest,
                         testing::Values(Function{"Exp", std::exp}, Function{"Expm1", std::expm1},
                                         Function{"Tanh", std::tanh}, Function{"Log", std::log},
                                         Function{"Log1p", std::log1p}, Function{"Erf", std::erf},
                                         Function{"Sigmoid", sigmoid},
                                         Function{"Softplus", softplus}, Function{"Elu", elu},
                                         Function{"Rsqrt", rsqrt}, Function{"Sqrt", std::sqrt},
                                         Function{"Sin", std::sin}, Function{"Cos", std::cos},
                                         Function{"Tan", std::tan}, Function{"Sinh", std::sinh},
                                         Function{"Cosh", std::cosh}, Function{"Atan", std::atan},
                                         Function{"Round", std::nearbyint},
                                         Function{"Floor", std::floor}),
                         [](const auto &info) { return std::string(info.param.op); });

// Large tensors are shared by threads, in ranges of elements or of rows.
class SharedLoopTest : public CodegenTest, public testing::WithParamInterface<int> {};

TEST_P(SharedLoopTest, GivesWhatOneThreadGives) {
  ThreadPool pool(GetParam());
  threads = GetParam() ? &pool : nullptr;
  std::string binary = "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)";
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"},
                     %k: tensor<f32> {tfg.name = "k"}) -> (tensor<*xf32> {tfg.name = "z"}) {)" +
      constant("half", "f32", "0.5") +
      op("scaled", "Mul", "%x, %k", "T = f32", "(tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)") +
      op("halved", "Mul", "%scaled, %half", "T = f32",
         "(tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)") +
      op("power", "Square", "%halved", "T = f32", "(tensor<*xf32>) -> (tensor<*xf32>)") +
      op("z", "AddV2", "%power, %y", "T = f32", binary) + "return(%z) : tensor<*xf32> }";
  constexpr int64_t rows = 700, columns = 900;
  std::vector<float> x, y;
  for (int64_t i = 0; i < rows * columns; ++i)
    x.push_back(static_cast<float>(i % 1000));
  for (int64_t i = 0; i < columns; ++i)
    y.push_back(static_cast<float>(i));
  auto expectedAt = [&](int64_t i, float added) { return x[i] * x[i] + added; };
  auto results = buildAndCall(text, {f32(x, {rows, columns}), row(y), scalar(2)});
  ASSERT_EQ(results.size(), 1u);
  std::vector<float> found = floats(results[0]);
  for (int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(found[i], expectedAt(i, y[i % columns])) << i;
  results = buildAndCall(text, {f32(x, {rows, columns}), f32(x, {rows, columns}), scalar(2)});
  ASSERT_EQ(results.size(), 1u);
  found = floats(results[0]);
  for (int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(found[i], expectedAt(i, x[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Workers, SharedLoopTest, testing::Values(0, 1, 3));

} // namespace
} // namespace treadle::codegen
