// The expected values are those of TensorFlow 2.21 with oneDNN.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using enum DType;

/// Returns the bytes `first`, `first + step`, ..., each modulo `modulus`.
template <typename T>
Tensor counted(DType dtype, std::vector<int64_t> dims, int step, int modulus, int first = 0) {
  Tensor t = *Tensor::make(dtype, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<T>()[i] = static_cast<T>(i * step % modulus + first);
  return t;
}

const Tensor image = counted<uint8_t>(QUInt8, {1, 3, 3, 2}, 37, 256);
const Tensor filter = counted<int8_t>(QInt8, {2, 2, 2, 2}, 29, 255, -127);
const Tensor bias = vec<float>({0.5f, -1.25f});
const Tensor summand = counted<uint8_t>(QUInt8, {1, 2, 2, 2}, 61, 256);

Tensor integers(std::vector<int32_t> values) {
  Tensor t = *Tensor::make(QInt32, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, t.data<int32_t>());
  return t;
}

std::vector<Tensor> ranges(std::initializer_list<float> ends) {
  std::vector<Tensor> out;
  for (float x : ends)
    out.push_back(scalar(x));
  return out;
}

const std::vector<Tensor> oneRange = ranges({0, 2, -1, 0.5f});
const std::vector<Tensor> perChannel = {scalar(0.0f), scalar(2.0f), vec<float>({-1, -0.25f}),
                                        vec<float>({0.5f, 0.5f})};

std::vector<Tensor> joined(std::vector<Tensor> first, const std::vector<Tensor> &second,
                           const std::vector<Tensor> &third = {}) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return first;
}

AttrMap valid() {
  AttrMap attrs;
  attrs.set("strides", std::vector<int64_t>{1, 1, 1, 1});
  attrs.set("padding", std::string("VALID"));
  return attrs;
}

std::vector<Tensor> run(std::string_view op, std::vector<Tensor> in, DType out,
                        const AttrMap &attrs = valid()) {
  auto results = runAll(op, std::move(in), {out, Float32, Float32}, attrs);
  return results.size() == 3 ? results : std::vector<Tensor>(3, scalar(0.0f));
}

TEST(FusedQuantized, SumsOfProducts) {
  auto out = run("QuantizedConv2D", joined({image, filter}, oneRange), QInt32);
  EXPECT_EQ(values<int32_t>(out[0]),
            (std::vector<int32_t>{25372, -14882, -13126, 2774, -25354, -49978, -7788, 8894}));
  EXPECT_FLOAT_EQ(out[1].scalarValue<float>(), -99466.59375f);
  out = run("QuantizedDepthwiseConv2DWithBias",
            joined({image, filter, vec<float>({0.5f, -1, 0.25f, 1})}, oneRange), QInt32);
  EXPECT_EQ(values<int32_t>(out[0]),
            (std::vector<int32_t>{29232, -41922, 8284, 27040, -2606, -26190, 1624, 28964, -1002,
                                  -60006, -12208, 10028, -328, -19186, 4684, 28080}));
}

TEST(FusedQuantized, ARangeForEachChannel) {
  auto out =
      run("QuantizedConv2DWithBiasAndRelu", joined({image, filter, bias}, perChannel), QInt32);
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{33468, 0, 0, 0, 0, 0, 308, 0}));
  EXPECT_EQ(values<float>(out[2]), (std::vector<float>{99466.59375f, 49733.296875f}));
}

TEST(FusedQuantized, FewerBits) {
  auto out = run("QuantizedConv2DWithBiasAndRequantize",
                 joined({image, filter, bias}, oneRange, ranges({-3, 2})), QInt8);
  EXPECT_EQ(values<int8_t>(out[0]), (std::vector<int8_t>{87, -92, -13, -46, -45, -128, 1, -30}));
  EXPECT_EQ(out[1].scalarValue<float>(), -3);
  AttrMap padded = valid();
  padded.set("padding_list", std::vector<int64_t>{0, 0, 1, 0, 0, 1, 0, 0});
  out = run("QuantizedConv2DWithBiasAndReluAndRequantize",
            joined({image, filter, integers({4000, -9000})}, perChannel, ranges({0, 3})), QUInt8,
            padded);
  EXPECT_EQ(values<uint8_t>(out[0]),
            (std::vector<uint8_t>{4, 0, 5, 0, 13, 0, 154, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(FusedQuantized, Summands) {
  Tensor floats = *Tensor::make(Float32, {1, 2, 2, 2});
  for (int i = 0; i < 8; ++i)
    floats.data<float>()[i] = static_cast<float>(summand.data<uint8_t>()[i]) / 64 - 1;
  std::vector<Tensor> inputs = joined({image, filter, bias}, oneRange);
  EXPECT_EQ(values<int32_t>(
                run("QuantizedConv2DWithBiasSumAndRelu", joined(inputs, {floats}), QInt32)[0]),
            (std::vector<int32_t>{17276, 0, 9645, 12641, 28284, 0, 11947, 15725}));
  inputs = joined(inputs, ranges({0, 3}));
  EXPECT_EQ(values<uint8_t>(run("QuantizedConv2DWithBiasSumAndReluAndRequantize",
                                joined(inputs, {summand}, ranges({0, 1.5f})), QUInt8)[0]),
            (std::vector<uint8_t>{176, 0, 35, 0, 31, 0, 57, 26}));
  Tensor signedSummand = counted<int8_t>(QInt8, {1, 2, 2, 2}, 61, 256);
  EXPECT_EQ(values<uint8_t>(run("QuantizedConv2DWithBiasSignedSumAndReluAndRequantize",
                                joined(inputs, {signedSummand}, ranges({-1, 1.5f})), QUInt8)[0]),
            (std::vector<uint8_t>{127, 0, 96, 0, 0, 0, 112, 0}));
}

TEST(FusedQuantized, Matrices) {
  Tensor a = image.withDims(std::vector<int64_t>{3, 6});
  Tensor b = counted<int8_t>(QInt8, {6, 2}, 29, 255, -127);
  AttrMap scaled, shifted;
  scaled.set("input_quant_mode", std::string("SCALED"));
  shifted.set("input_quant_mode", std::string("MIN_FIRST"));
  EXPECT_EQ(values<int32_t>(
                run("QuantizedMatMulWithBias", joined({a, b, bias}, oneRange), QInt32, scaled)[0]),
            (std::vector<int32_t>{8466, -41516, -19048, -58852, -31714, -61340}));
  EXPECT_EQ(values<uint8_t>(run("QuantizedMatMulWithBiasAndReluAndRequantize",
                                joined({a, b, bias}, oneRange, ranges({0, 4})), QUInt8, scaled)[0]),
            (std::vector<uint8_t>{33, 0, 0, 0, 0, 0}));
  auto dequantized =
      runAll("QuantizedMatMulWithBiasAndDequantize",
             joined({a, b, integers({4000, -9000})}, ranges({-0.5f, 2, -1, 0.5f, 0, 4})), {Float32},
             shifted);
  ASSERT_EQ(dequantized.size(), 1u);
  std::vector<float> expected = {0.337347537f, -2.337116f,  -1.78662968f,
                                 -3.675390f,   -2.7643971f, -3.8674543f};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(dequantized[0].data<float>()[i], expected[i], 1e-5);
}

// The minimum of `a` is -0.5, not 0: a float bias is added to the values.
TEST(FusedQuantized, ABiasOfFloatsForARangeThatBeginsBelowZero) {
  Tensor a = counted<uint8_t>(QUInt8, {1, 2}, 100, 256),
         b = counted<int8_t>(QInt8, {2, 1}, 7, 9, 3);
  auto out =
      runAll("QuantizedMatMulWithBiasAndDequantize",
             joined({a, b, vec<float>({0.25f})}, ranges({-0.5f, 2, -1, 0.5f, 0, 4})), {Float32});
  ASSERT_EQ(out.size(), 1u);
  double step = 2.5 / 255;
  EXPECT_NEAR(out[0].data<float>()[0], -0.5 * 3 / 127 + (100 * step - 0.5) * 10 / 127 + 0.25, 1e-5);
}

TEST(FusedQuantized, MismatchedShapesAreErrors) {
  std::vector<Tensor> inputs = joined({image, filter, vec<float>({1})}, oneRange);
  EXPECT_EQ(errorClassOf("QuantizedConv2DWithBias", inputs, {QInt32, Float32, Float32}, valid()),
            "InvalidArgumentError");
  inputs = joined({image, filter, bias}, oneRange);
  inputs[5] = vec<float>({-1, -1, -1});
  EXPECT_EQ(errorClassOf("QuantizedConv2DWithBias", inputs, {QInt32, Float32, Float32}, valid()),
            "InvalidArgumentError");
  inputs = joined({image, filter, bias}, oneRange, {vec<float>({1})});
  EXPECT_EQ(errorClassOf("QuantizedConv2DWithBiasSumAndRelu", inputs, {QInt32, Float32, Float32},
                         valid()),
            "InvalidArgumentError");
  inputs = joined({image, image, bias}, oneRange);
  EXPECT_EQ(errorClassOf("QuantizedConv2DWithBias", inputs, {QInt32, Float32, Float32}, valid()),
            "UnimplementedError");
}

} // namespace
} // namespace treadle
