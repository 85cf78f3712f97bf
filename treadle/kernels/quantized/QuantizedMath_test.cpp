// The expected values are those of TensorFlow 2.21.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

Tensor bytes(std::vector<int64_t> dims, const std::vector<uint8_t> &elements) {
  Tensor t = *Tensor::make(DType::QUInt8, dims);
  std::copy(elements.begin(), elements.end(), t.data<uint8_t>());
  return t;
}

const Tensor a = bytes({2, 3}, {0, 50, 100, 150, 200, 255}), y = bytes({3}, {5, 250, 90});
const Tensor image = bytes({1, 3, 4, 1}, {0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220});

std::vector<Tensor> run(std::string_view op, std::vector<Tensor> in, std::vector<float> ranges,
                        DType type = DType::QInt32, const AttrMap &attrs = {}) {
  for (float x : ranges)
    in.push_back(scalar(x));
  auto out = runAll(op, std::move(in), {type, DType::Float32, DType::Float32}, attrs);
  return out.size() == 3 ? out : std::vector<Tensor>(3, scalar(0.0f));
}

AttrMap window(std::vector<int64_t> size, std::vector<int64_t> strides) {
  AttrMap attrs;
  attrs.set("ksize", std::move(size));
  attrs.set("strides", std::move(strides));
  attrs.set("padding", std::string("SAME"));
  return attrs;
}

TEST(QuantizedMath, Products) {
  auto out = run("QuantizedMatMul", {a, bytes({3, 2}, {10, 20, 30, 40, 50, 60})}, {-1, 1, 0, 6});
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{-5020, -7360, 8730, 10940}));
  EXPECT_FLOAT_EQ(out[2].scalarValue<float>(), 396306.125f);
  EXPECT_EQ(values<int32_t>(run("QuantizedMul", {a, y}, {-1, 1, 0, 6})[0]),
            (std::vector<int32_t>{-640, -19500, -2520, 110, 18000, 11430}));
  std::vector<Tensor> reversed = {a, y, scalar(1.0f), scalar(-1.0f), scalar(0.0f), scalar(6.0f)};
  EXPECT_EQ(errorClassOf("QuantizedMul", reversed, {DType::QInt32}), "InvalidArgumentError");
}

TEST(QuantizedMath, ProductsOfFarRangesWrapAround) {
  for (const char *op : {"QuantizedMul", "QuantizedMatMul"}) {
    auto square = bytes({1, 1}, {255});
    EXPECT_EQ(run(op, {square, square}, {1e9f, 1.0000001e9f, 1e9f, 1.0000001e9f})[0].count(), 1);
  }
}

TEST(QuantizedMath, Sums) {
  auto sum = run("QuantizedAdd", {a, y}, {-1, 1, 0, 6});
  EXPECT_EQ(values<int32_t>(sum[0]),
            (std::vector<int32_t>{-19190, 115340, 41700, 6610, 141140, 68360}));
  EXPECT_EQ(sum[1].scalarValue<float>(), -98304);
  auto biased = run("QuantizedBiasAdd", {a, y}, {-1, 1, 0, 6});
  EXPECT_EQ(values<int32_t>(biased[0]),
            (std::vector<int32_t>{-2399, 14414, 5205, 814, 17626, 8524}));
  EXPECT_EQ(biased[2].scalarValue<float>(), 786432);
}

// Padding counts as zero, not as the integer 0.
TEST(QuantizedMath, Convolution) {
  auto out = run("QuantizedConv2D", {image, bytes({2, 2, 1, 1}, {1, 200, 3, 250})}, {-1, 1, -2, 2},
                 DType::QInt32, window({}, {1, 1, 1, 1}));
  EXPECT_EQ(values<int32_t>(out[0]),
            (std::vector<int32_t>{11064, 9904, 8744, 7136, 6424, 5264, 4104, -13024, -320, -1420,
                                  -2520, -11684}));
}

TEST(Requantize, Pooling) {
  AttrMap attrs = window({1, 2, 2, 1}, {1, 2, 2, 1});
  EXPECT_EQ(values<uint8_t>(run("QuantizedMaxPool", {image}, {-1, 1}, DType::QUInt8, attrs)[0]),
            (std::vector<uint8_t>{100, 140, 180, 220}));
  EXPECT_EQ(values<uint8_t>(run("QuantizedAvgPool", {image}, {-1, 1}, DType::QUInt8, attrs)[0]),
            (std::vector<uint8_t>{50, 90, 170, 210}));
}

TEST(Requantize, FromManyBitsToFew) {
  auto product =
      run("QuantizedMatMul", {a, bytes({3, 2}, {10, 20, 30, 40, 50, 60})}, {-1, 1, 0, 6});
  auto shrunk = runAll("QuantizeDownAndShrinkRange", product,
                       {DType::QUInt8, DType::Float32, DType::Float32});
  ASSERT_EQ(shrunk.size(), 3u);
  EXPECT_EQ(values<uint8_t>(shrunk[0]), (std::vector<uint8_t>{33, 0, 224, 255}));
  EXPECT_FLOAT_EQ(shrunk[1].scalarValue<float>(), -1.3581546545028687f);
  EXPECT_EQ(values<int8_t>(run("Requantize", product, {-4, 4}, DType::QInt8)[0]),
            (std::vector<int8_t>{-30, -43, 51, 64}));
  product.push_back(scalar(1.0f));
  product.push_back(scalar(4.0f));
  EXPECT_EQ(errorClassOf("Requantize", product, {DType::QInt8}), "InvalidArgumentError");
}

TEST(Requantize, RectifyingAndJoining) {
  EXPECT_EQ(values<uint8_t>(run("QuantizedRelu6", {a}, {-1, 8}, DType::QUInt8)[0]),
            (std::vector<uint8_t>{28, 50, 100, 150, 198, 198}));
  EXPECT_EQ(values<uint8_t>(run("QuantizedConcat", {scalar<int32_t>(0), y, y}, {-1, 0, 1, 6},
                                DType::QUInt8)[0]),
            (std::vector<uint8_t>{1, 71, 25, 40, 250, 113}));
}

TEST(Requantize, InvalidRangesAreAccepted) {
  float nan = std::numeric_limits<float>::quiet_NaN(), huge = 1e30f;
  EXPECT_EQ(run("QuantizedRelu6", {a}, {0, nan}, DType::QUInt8)[0].count(), 6);
  EXPECT_EQ(run("QuantizedReluX", {a, scalar(huge)}, {0, 1e-30f}, DType::QUInt8)[0].count(), 6);
  Tensor products = *Tensor::make(DType::QInt32, {2});
  std::fill_n(products.data<int32_t>(), 2, std::numeric_limits<int32_t>::max());
  for (float max : {1e-30f, nan})
    for (DType dtype : {DType::QUInt8, DType::QInt8})
      EXPECT_EQ(run("Requantize", {products}, {-huge, huge, -1e-30f, max}, dtype)[0].count(), 2);
}

TEST(Requantize, NumbersMustBeThere) {
  Tensor none = vec<float>({}), zero = scalar(0.0f), six = scalar(6.0f);
  auto classOf = [](std::string_view op, std::vector<Tensor> inputs) {
    return errorClassOf(op, std::move(inputs), {DType::QUInt8, DType::Float32, DType::Float32});
  };
  EXPECT_EQ(classOf("QuantizedConcat", {vec<int32_t>({}), y, y, zero, zero, six, six}),
            "InvalidArgumentError");
  EXPECT_EQ(classOf("QuantizedConcat", {scalar<int32_t>(0), y, y, zero, none, six, six}),
            "InvalidArgumentError");
  EXPECT_EQ(classOf("QuantizedReluX", {y, none, zero, six}), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
