#include "treadle/kernels/Families.h"
#include "treadle/testing/KernelTest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace treadle {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// --- broadcasting ------------------------------------------------------------------------------

TEST(Broadcast, EveryMixOfShapes) {
  struct Case {
    std::vector<int64_t> a, b, result;
  };
  for (const Case &c : std::vector<Case>{{{}, {}, {}},
                                         {{3}, {}, {3}},
                                         {{}, {2, 3}, {2, 3}},
                                         {{2, 3}, {3}, {2, 3}},
                                         {{2, 1}, {1, 3}, {2, 3}},
                                         {{2, 1, 4}, {3, 1}, {2, 3, 4}},
                                         {{1, 1, 1}, {1}, {1, 1, 1}},
                                         {{2, 3, 1, 5}, {2, 1, 4, 5}, {2, 3, 4, 5}},
                                         {{0, 3}, {1, 3}, {0, 3}},
                                         {{2, 0}, {}, {2, 0}},
                                         {{1}, {0}, {0}}}) {
    Tensor a = iota<int32_t>(c.a, 1), b = iota<int32_t>(c.b, 100);
    Tensor out = run1("Sub", {a, b});
    ASSERT_TRUE(out) << dimsText(c.a) << dimsText(c.b);
    ASSERT_EQ(dimsText(out.dims()), dimsText(c.result));
    for (int64_t i = 0; i < out.count(); ++i)
      EXPECT_EQ(out.data<int32_t>()[i],
                broadcastAt<int32_t>(a, c.result, i) - broadcastAt<int32_t>(b, c.result, i))
          << dimsText(c.a) << dimsText(c.b) << i;
  }
}

TEST(Broadcast, ShapesThatConflictAreAnError) {
  EXPECT_EQ(
      errorOf("AddV2", {iota<float>({2}, 0), iota<float>({3}, 0)}),
      "InvalidArgumentError: incompatible shapes: [2] vs. [3]; dimensions must be equal or 1");
}

TEST(Broadcast, ResultsTooLargeAreAnError) {
  EXPECT_EQ(errorClassOf("AddV2",
                         {iota<int8_t>({1 << 20, 1, 1, 1}, 0), iota<int8_t>({1 << 20, 1, 1}, 0)}),
            "ResourceExhaustedError");
}

// --- arithmetic --------------------------------------------------------------------------------

TEST(Cast, OnTheHostIsTheSame) {
  Tensor x = vec<float>({1.9f, -1.9f, 300});
  for (const char *op : {"Cast", "_HostCast"})
    EXPECT_EQ(values<int32_t>(run1(op, {x}, DType::Int32)), (std::vector<int32_t>{1, -1, 300}));
}

TEST(Arithmetic, IntegersWrapAround) {
  EXPECT_EQ(values<int32_t>(run1("AddV2", {vec<int32_t>({INT32_MAX}), vec<int32_t>({1})})),
            std::vector<int32_t>{INT32_MIN});
  EXPECT_EQ(values<uint16_t>(run1("Mul", {vec<uint16_t>({65535}), vec<uint16_t>({65535})})),
            std::vector<uint16_t>{1});
  EXPECT_EQ(values<int32_t>(run1("Square", {vec<int32_t>({INT32_MIN, 65537})})),
            (std::vector<int32_t>{0, 131073}));
  EXPECT_EQ(values<int8_t>(run1("Sub", {vec<int8_t>({-128}), vec<int8_t>({1})})),
            std::vector<int8_t>{127});
}

TEST(Arithmetic, ScalarsAndDTypesStay) {
  Tensor out = run1("Mul", {scalar<int64_t>(6), scalar<int64_t>(7)});
  EXPECT_EQ(out.dtype(), DType::Int64);
  EXPECT_EQ(out.scalarValue<int64_t>(), 42);
}

TEST(Arithmetic, StringsConcatenate) {
  Tensor out = run1("Add", {Tensor::scalarString("ab"), vec<std::string>({"c", "d"})});
  EXPECT_EQ(values<std::string>(out), (std::vector<std::string>{"abc", "abd"}));
}

TEST(Arithmetic, ComplexProducts) {
  EXPECT_EQ(values<Complex64>(run1("Mul", {vec<Complex64>({{1, 2}}), vec<Complex64>({{3, 4}})})),
            (std::vector<Complex64>{{-5, 10}}));
}

TEST(Arithmetic, ExtremesKeepNaN) {
  Tensor a = vec<float>({nan, 1, 2}), b = vec<float>({1, nan, 3});
  std::vector<float> max = values<float>(run1("Maximum", {a, b}));
  EXPECT_TRUE(std::isnan(max[0]) && std::isnan(max[1]) && max[2] == 3);
  std::vector<float> min = values<float>(run1("Minimum", {a, b}));
  EXPECT_TRUE(std::isnan(min[0]) && std::isnan(min[1]) && min[2] == 2);
}

TEST(Arithmetic, HalfIsRounded) {
  Tensor out = run1("AddV2", {vec<Half>({Half(2048)}), vec<Half>({Half(1)})});
  EXPECT_EQ(float(out.data<Half>()[0]), 2048.f);
}

TEST(Arithmetic, LongArraysAreComplete) {
  Tensor out = run1("AddV2", {iota<int32_t>({100, 1001}, 0), iota<int32_t>({100, 1001}, 5)});
  for (int64_t i = 0; i < out.count(); ++i)
    ASSERT_EQ(out.data<int32_t>()[i], 2 * i + 5);
}

// --- division ----------------------------------------------------------------------------------

TEST(Division, SignsOfFloorAndTruncation) {
  Tensor a = vec<int32_t>({7, -7, 7, -7, 6}), b = vec<int32_t>({3, 3, -3, -3, -3});
  EXPECT_EQ(values<int32_t>(run1("FloorDiv", {a, b})), (std::vector<int32_t>{2, -3, -3, 2, -2}));
  EXPECT_EQ(values<int32_t>(run1("TruncateDiv", {a, b})), (std::vector<int32_t>{2, -2, -2, 2, -2}));
  EXPECT_EQ(values<int32_t>(run1("FloorMod", {a, b})), (std::vector<int32_t>{1, 2, -2, -1, 0}));
  EXPECT_EQ(values<int32_t>(run1("TruncateMod", {a, b})), (std::vector<int32_t>{1, -1, 1, -1, 0}));
}

TEST(Division, RealSignsAndInfinities) {
  Tensor a = vec<float>({-7, 7, -1, 1}), b = vec<float>({3, -3, inf, 0});
  EXPECT_EQ(values<float>(run1("FloorDiv", {a, b})), (std::vector<float>{-3, -3, -0.f, inf}));
  EXPECT_EQ(values<float>(run1("DivNoNan", {a, b}))[3], 0);
  std::vector<float> mod = values<float>(run1("FloorMod", {a, b}));
  EXPECT_EQ(mod[0], 2);
  EXPECT_EQ(mod[1], -2);
  EXPECT_EQ(mod[2], inf);
  EXPECT_TRUE(std::isnan(mod[3]));
}

TEST(Division, SmallestByMinusOneWraps) {
  Tensor a = vec<int32_t>({INT32_MIN}), b = vec<int32_t>({-1});
  for (const char *op : {"Div", "FloorDiv", "TruncateDiv"})
    EXPECT_EQ(values<int32_t>(run1(op, {a, b}))[0], INT32_MIN) << op;
  for (const char *op : {"FloorMod", "TruncateMod"})
    EXPECT_EQ(values<int32_t>(run1(op, {a, b}))[0], 0) << op;
}

TEST(Division, ByZeroIsAnError) {
  for (const char *op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod", "Mod"}) {
    EXPECT_EQ(errorOf(op, {vec<int32_t>({1, 2}), vec<int32_t>({1, 0})}),
              "InvalidArgumentError: integer division by zero");
    EXPECT_EQ(errorOf(op, {scalar<int32_t>(1), scalar<int32_t>(0)}),
              "InvalidArgumentError: integer division by zero");
  }
}

TEST(Division, Powers) {
  EXPECT_EQ(
      values<int32_t>(run1("Pow", {vec<int32_t>({2, -3, 0, 7}), vec<int32_t>({10, 3, 0, 1})})),
      (std::vector<int32_t>{1024, -27, 1, 7}));
  EXPECT_EQ(values<float>(run1("Pow", {vec<float>({4, 2}), scalar<float>(.5f)}))[0], 2);
  EXPECT_EQ(errorClassOf("Pow", {scalar<int32_t>(2), scalar<int32_t>(-1)}), "InvalidArgumentError");
}

TEST(Division, UnsupportedDTypesSaySo) {
  EXPECT_EQ(errorOf("RealDiv", {scalar<int32_t>(2), scalar<int32_t>(1)}),
            "UnimplementedError: op 'RealDiv' has no kernel for int32");
}

// --- comparison --------------------------------------------------------------------------------

TEST(Functions, DenormalNumbers) {
  Tensor x = vec<double>({-1e300, -745, -710, -1, 700}), y = vec<float>({1e-45F, 1e-40F, 0, -1, 8});
  std::vector<double> powers = values<double>(run1("Exp", {x}));
  for (size_t i = 0; i < powers.size(); ++i)
    EXPECT_DOUBLE_EQ(powers[i], std::exp(x.data<double>()[i]));
  std::vector<float> logs = values<float>(run1("Log", {y}));
  EXPECT_FLOAT_EQ(logs[0], std::log(1e-45F));
  EXPECT_FLOAT_EQ(logs[1], std::log(1e-40F));
  EXPECT_EQ(logs[2], -inf);
  EXPECT_TRUE(std::isnan(logs[3]));
}

TEST(Functions, ComplexOnesDoNotCancel) {
  using Complex = std::complex<double>;
  Complex real = values<Complex>(run1("Expm1", {vec<Complex>({{1e6, 0}})}))[0];
  EXPECT_EQ(real, Complex(inf, 0));
  Complex nearCircle = values<Complex>(run1("Log1p", {vec<Complex>({{-5e-9, 1e-4}})}))[0];
  EXPECT_DOUBLE_EQ(nearCircle.real(), 1.2500000374604557e-17); // computed with exact fractions
  Complex large = values<Complex>(run1("Log1p", {vec<Complex>({{1e300, -1e300}})}))[0];
  EXPECT_DOUBLE_EQ(large.real(), std::log(1e300) + std::log(2.0) / 2);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  Complex square = values<Complex>(run1("Square", {vec<Complex>({{1, infinite}})}))[0];
  EXPECT_EQ(square, Complex(-infinite, infinite));
  EXPECT_EQ(values<Complex>(run1("Square", {vec<Complex>({{1e200, -1e200}})}))[0].real(), 0);
}

TEST(Compare, NaNIsUnordered) {
  Tensor a = vec<float>({nan, 1, 2}), b = vec<float>({1, 1, nan});
  EXPECT_EQ(values<bool>(run1("Less", {a, b}, DType::Bool)), (std::vector<bool>{0, 0, 0}));
  EXPECT_EQ(values<bool>(run1("LessEqual", {a, b}, DType::Bool)), (std::vector<bool>{0, 1, 0}));
  EXPECT_EQ(values<bool>(run1("NotEqual", {a, b}, DType::Bool)), (std::vector<bool>{1, 0, 1}));
}

TEST(Compare, SignsMatterInOrderOnly) {
  EXPECT_TRUE(
      run1("Less", {scalar<int32_t>(-1), scalar<int32_t>(1)}, DType::Bool).scalarValue<bool>());
  EXPECT_FALSE(
      run1("Less", {scalar<uint32_t>(-1), scalar<uint32_t>(1)}, DType::Bool).scalarValue<bool>());
}

TEST(Compare, Strings) {
  EXPECT_EQ(values<bool>(run1("Equal", {vec<std::string>({"a", "b"}), Tensor::scalarString("a")},
                              DType::Bool)),
            (std::vector<bool>{1, 0}));
}

TEST(Compare, ShapesThatConflictMayBeUnequal) {
  AttrMap lenient;
  lenient.set("incompatible_shape_error", false);
  Tensor a = vec<float>({1, 2}), b = vec<float>({1, 2, 3});
  EXPECT_FALSE(run1("Equal", {a, b}, DType::Bool, lenient).scalarValue<bool>());
  EXPECT_TRUE(run1("NotEqual", {a, b}, DType::Bool, lenient).scalarValue<bool>());
  EXPECT_EQ(values<bool>(run1("Equal", {a, a}, DType::Bool, lenient)), (std::vector<bool>{1, 1}));
}

TEST(Compare, Logic) {
  Tensor a = vec<bool>({0, 0, 1, 1}), b = vec<bool>({0, 1, 0, 1});
  EXPECT_EQ(values<bool>(run1("LogicalAnd", {a, b})), (std::vector<bool>{0, 0, 0, 1}));
  EXPECT_EQ(values<bool>(run1("LogicalOr", {a, b})), (std::vector<bool>{0, 1, 1, 1}));
  EXPECT_EQ(values<bool>(run1("LogicalNot", {a})), (std::vector<bool>{1, 1, 0, 0}));
}

// An operand without other references is overwritten; a shared one is left unchanged.
TEST(Reuse, SharedOperandsAreLeftAlone) {
  Tensor kept = vec<float>({1, 2, 3});
  Tensor out = run1("AddV2", {kept, vec<float>({1, 1, 1})});
  EXPECT_EQ(values<float>(kept), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(values<float>(out), (std::vector<float>{2, 3, 4}));
}

TEST(ComplexAbs, OfAnySize) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = vec<Complex64>({{3, -4},
                             {3e38f, 1e38f},
                             {3e-42f, 4e-42f},
                             {-infinity, 1},
                             {nan, infinity},
                             {nan, 1},
                             {-0.0f, 0},
                             {3.4e38f, 3.4e38f}});
  std::vector<float> sizes = values<float>(run1("ComplexAbs", {x}, DType::Float32));
  std::vector<float> expected = {5, 3.1622777e38f, 5e-42f, infinity, infinity, nan, 0, infinity};
  ASSERT_EQ(sizes.size(), expected.size());
  for (size_t i = 0; i < sizes.size(); ++i)
    EXPECT_TRUE(sizes[i] == expected[i] || (std::isnan(sizes[i]) && std::isnan(expected[i])))
        << i << ": " << sizes[i];
}

} // namespace
} // namespace treadle
