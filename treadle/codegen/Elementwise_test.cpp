// Tests of the accuracy of elementwise ops over tensors.
#include "treadle/testing/CodegenTesting.h"

#include <cmath>

namespace treadle::codegen {
namespace {

struct Function {
  const char *op;
  double (*exact)(double);
};

class FloatMathTest : public CodegenTest, public testing::WithParamInterface<Function> {};

/// Returns the distance from the true value in units in the last place.
double ulps(float found, double expected) {
  auto rounded = static_cast<float>(expected);
  if (std::isnan(expected) || std::isinf(expected) || expected == 0)
    return found == rounded || (std::isnan(expected) && std::isnan(found)) ? 0 : INFINITY;
  // If the true value exceeds the largest float by less than four units, both results are accepted.
  if (std::isinf(rounded))
    return found == rounded ? 0 : std::fabs(found - expected) / 0x1p104;
  int exponent;
  std::frexp(std::fabs(expected), &exponent);
  if (std::isinf(found))
    return INFINITY;
  return std::fabs(found - expected) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Returns numbers of all magnitudes, `step` bit patterns apart, many between 2^-12 and 2^12, and
/// NaN.
std::vector<float> numbersOfAllSizes(uint32_t step) {
  std::vector<float> values = {0.0f,    -0.0f,  INFINITY,  -INFINITY,
                               NAN,     1.0f,   -1.0f,     88.73f,
                               -88.73f, 0.5f,   -0.5f,     std::nextafter(1.0f, 0.0f),
                               103.97f, 1e-45f, 0x1p-126f, 0x1.fffffep127f};
  for (uint32_t bits = 0; bits < 0x7f800000; bits += step)
    for (uint32_t sign : {0u, 0x80000000u})
      values.push_back(std::bit_cast<float>(bits | sign));
  for (uint32_t bits = 0x39800000; bits < 0x45800000; bits += std::max(step / 50, 1u))
    for (uint32_t sign : {0u, 0x80000000u})
      values.push_back(std::bit_cast<float>(bits | sign));
  return values;
}

/// Returns the text of a function over `*xf32` that applies the op.
std::string functionOf(const std::string &name, int numInputs) {
  std::string arguments, operands, types;
  for (int i = 0; i < numInputs; ++i) {
    std::string comma = i ? ", " : "", argument = "%x" + std::to_string(i);
    arguments += comma + argument + ": tensor<*xf32> {tfg.name = \"x" + std::to_string(i) + "\"}";
    operands += comma + argument;
    types += comma + "tensor<*xf32>";
  }
  return "tfg.func @f(" + arguments + ") -> (tensor<*xf32> {tfg.name = \"y\"}) {" +
         op("y", name, operands, "T = f32", "(" + types + ") -> (tensor<*xf32>)") +
         "return(%y) : tensor<*xf32> }";
}

TEST_P(FloatMathTest, IsWithinFourUnitsInTheLastPlace) {
  auto [name, exact] = GetParam();
  std::vector<float> values = numbersOfAllSizes(4001);
  auto results = buildAndCall(functionOf(name, 1), {row(values)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numKernels, 0u);
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
double reciprocal(double x) { return 1 / x; }

double selu(double x) {
  return x < 0 ? 1.7580993408473768599402175208123 * std::expm1(x)
               : 1.0507009873554804934193349852946 * x;
}

INSTANTIATE_TEST_SUITE_P(
    Ops, FloatMathTest,
    testing::Values(
        Function{"Exp", std::exp}, Function{"Expm1", std::expm1}, Function{"Log", std::log},
        Function{"Log1p", std::log1p}, Function{"Tanh", std::tanh}, Function{"Erf", std::erf},
        Function{"Erfc", std::erfc}, Function{"Sigmoid", sigmoid}, Function{"Softplus", softplus},
        Function{"Elu", elu}, Function{"Selu", selu}, Function{"Rsqrt", rsqrt},
        Function{"Sqrt", std::sqrt}, Function{"Sin", std::sin}, Function{"Cos", std::cos},
        Function{"Tan", std::tan}, Function{"Asin", std::asin}, Function{"Acos", std::acos},
        Function{"Atan", std::atan}, Function{"Sinh", std::sinh}, Function{"Cosh", std::cosh},
        Function{"Asinh", std::asinh}, Function{"Acosh", std::acosh}, Function{"Atanh", std::atanh},
        Function{"Round", std::nearbyint}, Function{"Floor", std::floor}),
    [](const auto &info) { return std::string(info.param.op); });

class CastTest : public CodegenTest, public testing::WithParamInterface<const char *> {};

TEST_P(CastTest, IsCompiled) {
  std::string function =
      "tfg.func @f(%x: tensor<*xi32> {tfg.name = \"x\"}) -> (tensor<*xf32> {tfg.name = \"y\"}) {" +
      op("y", GetParam(), "%x", "SrcT = i32, DstT = f32", "(tensor<*xi32>) -> (tensor<*xf32>)") +
      "return(%y) : tensor<*xf32> }";
  std::vector<int32_t> numbers = {3, -4, 1 << 30};
  auto results = buildAndCall(function, {Tensor::vector<int32_t>(DType::Int32, numbers)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numKernels, 0u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{3, -4, 0x1p30f}));
}

INSTANTIATE_TEST_SUITE_P(Ops, CastTest, testing::Values("Cast", "_HostCast"),
                         [](const auto &info) { return info.index ? "HostCast" : "Cast"; });

struct BinaryFunction {
  const char *op;
  double (*exact)(double, double);
};

class BinaryFloatMathTest : public CodegenTest,
                            public testing::WithParamInterface<BinaryFunction> {};

/// Returns numbers of all magnitudes with exponents of all magnitudes, small integers, and pairs
/// with results close to the limits.
std::pair<std::vector<float>, std::vector<float>> powersOfAllSizes() {
  std::vector<float> bases = numbersOfAllSizes(400'001), x, y;
  uint64_t random = 1;
  for (float base : bases) {
    double log = std::log2(std::fabs(static_cast<double>(base)));
    std::vector<double> others = {0,    -0.0, 1,      -1,         2,        3,         -3, 0.5,
                                  -0.5, 7,    0x1p24, 0x1p23 + 1, INFINITY, -INFINITY, NAN};
    for (double result : {127.99, -126.01, -140.3, -148.9, 60.5, 1e-3})
      others.push_back(result / log);
    for (int i = 0; i < 16; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      others.push_back(std::bit_cast<float>(static_cast<uint32_t>(random >> 32)));
    }
    for (double other : others) {
      x.push_back(base);
      y.push_back(static_cast<float>(other));
    }
  }
  return {std::move(x), std::move(y)};
}

TEST_P(BinaryFloatMathTest, IsWithinFourUnitsInTheLastPlace) {
  auto [name, exact] = GetParam();
  auto [x, y] = powersOfAllSizes();
  auto results = buildAndCall(functionOf(name, 2), {row(x), row(y)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numKernels, 0u);
  std::vector<float> found = floats(results[0]);
  double worst = 0;
  size_t worstAt = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (double distance = ulps(found[i], exact(x[i], y[i])); !(distance <= worst)) {
      worst = distance;
      worstAt = i;
    }
  EXPECT_LE(worst, 4) << name << " of " << x[worstAt] << " and " << y[worstAt] << ": "
                      << found[worstAt];
}

double xlogy(double x, double y) { return x == 0 ? 0 : x * std::log(y); }
double xlog1py(double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }
double xdivy(double x, double y) { return x == 0 ? 0 : x / y; }

INSTANTIATE_TEST_SUITE_P(Ops, BinaryFloatMathTest,
                         testing::Values(BinaryFunction{"Pow", std::pow},
                                         BinaryFunction{"Atan2", std::atan2},
                                         BinaryFunction{"Xdivy", xdivy},
                                         BinaryFunction{"Xlogy", xlogy},
                                         BinaryFunction{"Xlog1py", xlog1py}),
                         [](const auto &info) { return std::string(info.param.op); });

// --- fast math -----------------------------------------------------------------------------------

/// Numbers that may count as 0 with fast math: below twice the least normal number.
bool isTiny(double x) { return std::fabs(x) < 0x1p-125; }

class FastFloatMathTest : public FloatMathTest {};

TEST_P(FastFloatMathTest, IsWithinSixteenUnitsInTheLastPlace) {
  auto [name, exact] = GetParam();
  std::vector<float> values = numbersOfAllSizes(4001);
  options.fastMath = true;
  auto results = buildAndCall(functionOf(name, 1), {row(values)});
  ASSERT_EQ(results.size(), 1u);
  std::vector<float> found = floats(results[0]);
  for (size_t i = 0; i < values.size(); ++i) {
    double expected = exact(values[i]);
    if (isTiny(expected))
      ASSERT_TRUE(isTiny(found[i])) << name << " of " << values[i];
    else if (isTiny(values[i]) && ulps(found[i], exact(0)) == 0)
      continue;
    else
      ASSERT_LE(ulps(found[i], expected), 16) << name << " of " << values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, FastFloatMathTest,
                         testing::Values(Function{"Exp", std::exp}, Function{"Expm1", std::expm1},
                                         Function{"Log", std::log}, Function{"Log1p", std::log1p},
                                         Function{"Tanh", std::tanh}, Function{"Erf", std::erf},
                                         Function{"Sigmoid", sigmoid},
                                         Function{"Softplus", softplus}, Function{"Elu", elu},
                                         Function{"Rsqrt", rsqrt}, Function{"Sqrt", std::sqrt},
                                         Function{"Sin", std::sin},
                                         Function{"Reciprocal", reciprocal}),
                         [](const auto &info) { return std::string(info.param.op); });

class FastPowerTest : public CodegenTest {};

TEST_F(FastPowerTest, IsWithin512UnitsInTheLastPlace) {
  auto [x, y] = powersOfAllSizes();
  options.fastMath = true;
  auto results = buildAndCall(functionOf("Pow", 2), {row(x), row(y)});
  ASSERT_EQ(results.size(), 1u);
  std::vector<float> found = floats(results[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = std::pow(x[i], y[i]);
    if (isTiny(expected))
      ASSERT_TRUE(isTiny(found[i])) << x[i] << " to the power of " << y[i];
    else if (isTiny(x[i]) && ulps(found[i], std::pow(std::copysign(0, x[i]), y[i])) == 0)
      continue;
    else if (std::fabs(expected) > 0x1.ff8p127)
      ASSERT_GE(std::fabs(found[i]), 0x1.fep127) << x[i] << " to the power of " << y[i];
    else
      ASSERT_LE(ulps(found[i], expected), 512) << x[i] << " to the power of " << y[i];
  }
}

/// Whether this processor has fused multiply-add.
bool hasFma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

class FastArithmeticTest : public CodegenTest {
protected:
  std::vector<float> valuesOf(const std::string &text, const std::vector<Tensor> &arguments,
                              bool isFast) {
    options.fastMath = isFast;
    auto results = buildAndCall(text, arguments);
    return results.size() == 1 ? floats(results[0]) : std::vector<float>();
  }

  /// Numbers whose products must be rounded.
  static std::vector<float> fractions() {
    std::vector<float> values;
    for (int i = 1; i < 400; ++i)
      values.push_back(static_cast<float>(i) / 7);
    return values;
  }
};

TEST_F(FastArithmeticTest, AProductAndASumAreRoundedOnce) {
  std::vector<float> x = fractions(), twice, once;
  for (float value : x) {
    volatile float product = value * value; // forces rounding
    twice.push_back(product - value);
    once.push_back(std::fma(value, value, -value));
  }
  ASSERT_NE(once, twice);
  std::string text =
      "tfg.func @f(%x: tensor<*xf32> {tfg.name = \"x\"}) -> (tensor<*xf32> "
      "{tfg.name = \"y\"}) {" +
      op("p", "Mul", "%x, %x", "T = f32", "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
      op("y", "Sub", "%p, %x", "T = f32", "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
      "return(%y) : tensor<*xf32> }";
  EXPECT_EQ(valuesOf(text, {row(x)}, false), twice);
  EXPECT_EQ(valuesOf(text, {row(x)}, true), hasFma() ? once : twice);
}

TEST_F(FastArithmeticTest, WhatManyAreDividedByIsInvertedOnce) {
  std::vector<float> x = fractions(), quotients, products;
  for (float value : x) {
    quotients.push_back(value / 3);
    products.push_back(value * (1.0f / 3));
  }
  ASSERT_NE(quotients, products);
  EXPECT_EQ(valuesOf(functionOf("RealDiv", 2), {row(x), row({3})}, false), quotients);
  EXPECT_EQ(valuesOf(functionOf("RealDiv", 2), {row(x), row({3})}, true), products);
}

TEST_F(FastArithmeticTest, ConversionsAreExact) {
  std::string text =
      "tfg.func @f(%x: tensor<*xf32> {tfg.name = \"x\"}) -> (tensor<*xf32> "
      "{tfg.name = \"y\"}) {" +
      op("wide", "Cast", "%x", "SrcT = f32, DstT = f64", "(tensor<*xf32>) -> (tensor<*xf64>)") +
      op("y", "Cast", "%wide", "SrcT = f64, DstT = f32", "(tensor<*xf64>) -> (tensor<*xf32>)") +
      "return(%y) : tensor<*xf32> }";
  std::vector<float> x = fractions();
  for (bool isFast : {false, true})
    EXPECT_EQ(valuesOf(text, {row(x)}, isFast), x);
}

TEST_F(FastArithmeticTest, InfinitiesAndNanStay) {
  std::vector<float> x = {INFINITY, -INFINITY, NAN, 0, 1, -1, -0.0f, 3e38f};
  for (float divisor : {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1.0f, 0.1f, 3e38f}) {
    auto exact = valuesOf(functionOf("RealDiv", 2), {row(x), row({divisor})}, false);
    auto fast = valuesOf(functionOf("RealDiv", 2), {row(x), row({divisor})}, true);
    ASSERT_EQ(exact.size(), x.size());
    ASSERT_EQ(fast.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(ulps(fast[i], exact[i]), 16) << x[i] << " / " << divisor;
  }
}

// Threads share large tensors, in ranges of elements or of rows.
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
