// The expected values are those of TensorFlow 2.21.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

const std::vector<float> numbers = {-1.2f, -.3f, 0, .31f, .8f, 2.5f};

struct Case {
  const char *mode;
  std::vector<int8_t> integers;
  std::vector<double> range, back;
};

class QuantizedMode : public testing::TestWithParam<Case> {
protected:
  AttrMap attrs() const {
    AttrMap attrs;
    attrs.set("mode", std::string(GetParam().mode));
    return attrs;
  }
};

TEST_P(QuantizedMode, ThereAndBack) {
  auto out = runAll("QuantizeV2", {vec(numbers), scalar(-1.0f), scalar(2.0f)},
                    {DType::QInt8, DType::Float32, DType::Float32}, attrs());
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int8_t>(out[0]), GetParam().integers);
  EXPECT_FLOAT_EQ(out[1].scalarValue<float>(), GetParam().range[0]);
  EXPECT_FLOAT_EQ(out[2].scalarValue<float>(), GetParam().range[1]);
  expectNear<float>(run1("Dequantize", out, DType::Float32, attrs()), GetParam().back);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, QuantizedMode,
    testing::Values(Case{"MIN_COMBINED",
                         {-128, -69, -43, -17, 25, 127},
                         {-1, 2},
                         {-1, -0.3058823347091675, 0, 0.3058823347091675, 0.8000000715255737, 2}},
                    Case{"MIN_FIRST",
                         {-128, -69, -43, -17, 25, 127},
                         {-1, 2},
                         {-1, -0.3058823347091675, 0, 0.30588239431381226, 0.8000000715255737, 2}},
                    Case{"SCALED",
                         {-76, -19, 0, 20, 51, 127},
                         {-2.0157480239868164, 2},
                         {-1.1968504190444946, -0.29921260476112366, 0, 0.31496062874794006,
                          0.8031495809555054, 2}}));

TEST(Quantize, ARangeForEachSlice) {
  AttrMap attrs;
  attrs.set("mode", std::string("SCALED"));
  attrs.set("axis", int64_t{0});
  attrs.set("narrow_range", true);
  std::vector<Tensor> in = {tensor<float>({2, 3}, numbers), vec<float>({-1, -2}),
                            vec<float>({1, 2})};
  auto out = runAll("QuantizeV2", in, {DType::QInt8, DType::Float32, DType::Float32}, attrs);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int8_t>(out[0]), (std::vector<int8_t>{-127, -38, 0, 20, 51, 127}));
  in[1] = vec<float>({-1});
  EXPECT_EQ(errorClassOf("QuantizeV2", in, {DType::QInt8, DType::Float32, DType::Float32}, attrs),
            "InvalidArgumentError");
}

TEST(QuantizeAndDequantize, RoundsToTheStepsOfARange) {
  AttrMap attrs;
  attrs.set("num_bits", int64_t{4});
  attrs.set("range_given", true);
  std::vector<Tensor> in = {vec(numbers), scalar(-1.0f), scalar(2.0f)};
  expectNear<float>(
      run1("QuantizeAndDequantizeV2", in, DType::Float32, attrs),
      {-1.1428571939468384, -0.2857142984867096, 0, 0.2857142984867096, 0.8571429252624512, 2});
  std::swap(in[1], in[2]);
  EXPECT_EQ(errorClassOf("QuantizeAndDequantizeV2", in, {}, attrs), "InvalidArgumentError");
}

TEST(QuantizeAndDequantize, TheGradientPassesInsideTheRange) {
  auto out = runAll("QuantizeAndDequantizeV4Grad",
                    {vec<float>({1, 2, 3, 4, 5, 6}), vec(numbers), scalar(-1.0f), scalar(2.0f)},
                    {DType::Float32, DType::Float32, DType::Float32});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<float>(out[0]), (std::vector<float>{0, 2, 3, 4, 5, 0}));
  EXPECT_EQ(out[1].scalarValue<float>(), 0);
}

} // namespace
} // namespace treadle
