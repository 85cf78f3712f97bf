#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

TEST(NumericCheck, TellsWhatIsThere) {
  AttrMap attrs;
  attrs.set("message", std::string("loss"));
  expectNear<float>(run1("CheckNumerics", {vec<float>({1, 2})}, DType::Float32, attrs), {1, 2});
  EXPECT_EQ(errorOf("CheckNumerics", {vec<float>({-inf, NAN})}, {}, attrs),
            "InvalidArgumentError: loss : tensor had Inf, NaN values");
  EXPECT_EQ(errorOf("CheckNumericsV2", {vec<float>({-inf, inf})}, {}, attrs),
            "InvalidArgumentError: loss : tensor had -Inf, +Inf values");
}

TEST(NumericCheck, UnravelIndex) {
  Tensor dims = vec<int32_t>({2, 3});
  EXPECT_EQ(values<int32_t>(run1("UnravelIndex", {vec<int32_t>({5, 1}), dims})),
            (std::vector<int32_t>{1, 0, 2, 1}));
  EXPECT_EQ(errorOf("UnravelIndex", {scalar<int32_t>(6), dims}),
            "InvalidArgumentError: index 6 is outside dimensions [2,3]");
  EXPECT_EQ(errorOf("UnravelIndex", {vec<int32_t>({}), dims}),
            "InvalidArgumentError: indices must not be empty");
  EXPECT_EQ(errorClassOf("UnravelIndex", {scalar<int32_t>(0), vec<int32_t>({0})}),
            "InvalidArgumentError");
}

TEST(NumericCheck, HistogramHasOuterBins) {
  Tensor x = vec<float>({-9, 0, 1, 4.9f, 99, NAN}), range = vec<float>({0, 5});
  EXPECT_EQ(
      values<int32_t>(run1("HistogramFixedWidth", {x, range, scalar<int32_t>(5)}, DType::Int32)),
      (std::vector<int32_t>{3, 1, 0, 0, 2}));
  EXPECT_EQ(errorClassOf("HistogramFixedWidth", {x, range, scalar<int32_t>(0)}, {DType::Int32}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("HistogramFixedWidth", {x, vec<float>({1, 1}), scalar<int32_t>(2)},
                         {DType::Int32}),
            "InvalidArgumentError");
}

TEST(FakeQuantization, RoundsToSteps) {
  AttrMap attrs;
  attrs.set("num_bits", int64_t{2});
  attrs.set("min", 0.0f);
  attrs.set("max", 3.0f);
  Tensor x = vec<float>({-1, 0.4f, 1.6f, 9});
  expectNear<float>(run1("FakeQuantWithMinMaxArgs", {x}, DType::Float32, attrs), {0, 0, 2, 3});
  Tensor low = scalar(0.0f), high = scalar(3.0f);
  expectNear<float>(run1("FakeQuantWithMinMaxVars", {x, low, high}, DType::Float32, attrs),
                    {0, 0, 2, 3});
  auto out = runAll("FakeQuantWithMinMaxVarsGradient", {vec<float>({1, 2, 4, 8}), x, low, high},
                    {DType::Float32, DType::Float32, DType::Float32}, attrs);
  ASSERT_EQ(out.size(), 3u);
  expectNear<float>(out[0], {0, 2, 4, 0});
  expectNear<float>(out[1], {1});
  expectNear<float>(out[2], {8});
}

TEST(FakeQuantization, RoundsHalvesByWhereTheRangeIs) {
  AttrMap attrs; // -6 to 6
  Tensor x = scalar(2.0f);
  EXPECT_FLOAT_EQ(run1("FakeQuantWithMinMaxArgs", {x}, DType::Float32, attrs).data<float>()[0],
                  2.0235295f);
  Tensor low = scalar(-6.0f), high = scalar(6.0f);
  EXPECT_FLOAT_EQ(
      run1("FakeQuantWithMinMaxVars", {x, low, high}, DType::Float32, attrs).data<float>()[0],
      1.9764705f);
  Tensor column = vec<float>({2}), lows = vec<float>({-6}), highs = vec<float>({6});
  EXPECT_FLOAT_EQ(
      run1("FakeQuantWithMinMaxVarsPerChannel", {column, lows, highs}, DType::Float32, attrs)
          .data<float>()[0],
      2.0235295f);
}

TEST(FakeQuantization, ByChannel) {
  AttrMap attrs;
  attrs.set("num_bits", int64_t{2});
  Tensor x = tensor<float>({1, 2}, {1.2f, 1.2f});
  auto quantized = [&](Tensor high) {
    return run1("FakeQuantWithMinMaxVarsPerChannel", {x, vec<float>({0, 0}), high}, DType::Float32,
                attrs);
  };
  expectNear<float>(quantized(vec<float>({3, 6})), {1, 2});
  EXPECT_EQ(errorClassOf("FakeQuantWithMinMaxVarsPerChannel",
                         {x, vec<float>({0, 0}), vec<float>({3})}, {}, attrs),
            "InvalidArgumentError");
  attrs.set("num_bits", int64_t{17});
  EXPECT_EQ(errorClassOf("FakeQuantWithMinMaxArgs", {x}, {}, attrs), "InvalidArgumentError");
}

TEST(CombinedNonMaxSuppression, BestOfAllClasses) {
  Tensor boxes = tensor<float>({1, 2, 1, 4}, {0, 0, 1, 1, 0, 0, 1, 1.5f});
  Tensor scores = tensor<float>({1, 2, 2}, {0.9f, 0.1f, 0.5f, 0.8f});
  auto out =
      runAll("CombinedNonMaxSuppression",
             {boxes, scores, scalar<int32_t>(2), scalar<int32_t>(3), scalar(0.5f), scalar(0.3f)},
             {DType::Float32, DType::Float32, DType::Float32, DType::Int32});
  ASSERT_EQ(out.size(), 4u);
  expectNear<float>(out[0], {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0});
  expectNear<float>(out[1], {0.9, 0.8, 0});
  expectNear<float>(out[2], {0, 1, 0});
  EXPECT_EQ(values<int32_t>(out[3]), (std::vector<int32_t>{2}));
  EXPECT_EQ(
      errorClassOf("CombinedNonMaxSuppression", {boxes, scores, scalar<int32_t>(0),
                                                 scalar<int32_t>(3), scalar(0.5f), scalar(0.3f)}),
      "InvalidArgumentError");
}

} // namespace
} // namespace treadle
