#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

AttrMap pooling(bool isPseudoRandom) {
  AttrMap attrs;
  attrs.set("pooling_ratio", std::vector<float>{1, 1.6f, 1, 1});
  attrs.set("pseudo_random", isPseudoRandom);
  attrs.set("deterministic", true);
  attrs.set("seed", int64_t{3});
  attrs.set("seed2", int64_t{4});
  return attrs;
}

std::vector<Tensor> pool(const char *op, Tensor image, const AttrMap &attrs) {
  return runAll(op, {image}, {image.dtype(), DType::Int64, DType::Int64}, attrs);
}

// Windows that TensorFlow draws for these seeds.
TEST(FractionalPooling, DrawsWindowsFromItsSeeds) {
  Tensor image = iota<float>({1, 13, 1, 1}, 0);
  std::vector<Tensor> shuffled = pool("FractionalMaxPool", image, pooling(false));
  ASSERT_EQ(shuffled.size(), 3u);
  EXPECT_EQ(values<int64_t>(shuffled[1]), (std::vector<int64_t>{0, 2, 4, 5, 7, 9, 10, 12, 13}));
  std::vector<Tensor> spaced = pool("FractionalMaxPool", image, pooling(true));
  ASSERT_EQ(spaced.size(), 3u);
  EXPECT_EQ(values<int64_t>(spaced[1]), (std::vector<int64_t>{0, 2, 3, 5, 7, 8, 10, 11, 13}));
  for (int64_t i = 0; i < 8; ++i) // values increase, so the last element of a window is its maximum
    EXPECT_EQ(spaced[0].data<float>()[i], static_cast<float>(spaced[1].data<int64_t>()[i + 1] - 1));
}

TEST(FractionalPooling, RatiosAreNumbersOfAtLeast1) {
  for (float ratio : {0.5f, std::numeric_limits<float>::quiet_NaN()}) {
    AttrMap attrs = pooling(true);
    attrs.set("pooling_ratio", std::vector<float>{1, 1, ratio, 1});
    EXPECT_EQ(errorClassOf("FractionalMaxPool", {iota<float>({1, 4, 4, 1}, 0)},
                           {DType::Float32, DType::Int64, DType::Int64}, attrs),
              "InvalidArgumentError");
  }
}

TEST(FractionalPooling, SumsOfIntegersAreIntegers) {
  Tensor image = tensor<int32_t>({1, 2, 1, 1}, {1, 2});
  Tensor result = tensor<int32_t>({1, 2, 1, 1}, {2, 2});
  Tensor most = tensor<int32_t>({1, 2, 1, 1}, {INT32_MAX, INT32_MAX});
  Tensor rows = vec<int64_t>({0, 1, 2}), column = vec<int64_t>({0, 1});
  AttrMap overlapping;
  overlapping.set("overlapping", true);
  EXPECT_EQ(values<int32_t>(run1("FractionalMaxPoolGrad", {image, result, most, rows, column}, {},
                                 overlapping)),
            (std::vector<int32_t>{0, -2}));
  EXPECT_EQ(values<int32_t>(run1("FractionalAvgPoolGrad",
                                 {vec<int64_t>({1, 2, 1, 1}), most, rows, column}, DType::Int32,
                                 overlapping)),
            (std::vector<int32_t>{1073741823, INT32_MIN}));
}

TEST(FractionalPooling, GradientsGoBackThroughTheWindows) {
  Tensor image = tensor<float>({1, 4, 1, 1}, {1, 5, 7, 3}),
         result = tensor<float>({1, 2, 1, 1}, {5, 7});
  Tensor slopes = tensor<float>({1, 2, 1, 1}, {10, 20}), rows = vec<int64_t>({0, 2, 4}),
         columns = vec<int64_t>({0, 1});
  EXPECT_EQ(values<float>(run1("FractionalMaxPoolGrad", {image, result, slopes, rows, columns})),
            (std::vector<float>{0, 10, 20, 0}));
  AttrMap overlapping;
  overlapping.set("overlapping", true);
  EXPECT_EQ(values<float>(run1("FractionalMaxPoolGrad", {image, result, slopes, rows, columns}, {},
                               overlapping)),
            (std::vector<float>{0, 0, 30, 0}));
  Tensor shape = vec<int64_t>({1, 4, 1, 1});
  EXPECT_EQ(
      values<float>(run1("FractionalAvgPoolGrad", {shape, slopes, rows, columns}, DType::Float32)),
      (std::vector<float>{5, 5, 10, 10}));
  EXPECT_EQ(errorOf("FractionalAvgPoolGrad", {shape, slopes, vec<int64_t>({0, 2, 9}), columns},
                    {DType::Float32}),
            "InvalidArgumentError: the pooling sequences do not match an input of shape [1,4,1,1] "
            "and a result of shape [1,2,1,1]");
}

TEST(FractionalPooling, SeedsNeedFixedWindows) {
  AttrMap attrs = pooling(false);
  attrs.set("deterministic", false);
  EXPECT_EQ(errorClassOf("FractionalAvgPool", {iota<float>({1, 13, 1, 1}, 0)},
                         {DType::Float32, DType::Int64, DType::Int64}, attrs),
            "InvalidArgumentError");
}

TEST(FusedPadConv2D, IsPaddingAndConvolution) {
  AttrMap attrs;
  attrs.set("mode", std::string("REFLECT"));
  attrs.set("strides", std::vector<int64_t>{1, 1, 1, 1});
  attrs.set("padding", std::string("VALID"));
  Tensor paddings = tensor<int32_t>({4, 2}, {0, 0, 0, 0, 1, 0, 0, 0});
  Tensor filter = tensor<float>({1, 2, 1, 1}, {1, 10});
  EXPECT_EQ(
      values<float>(run1("FusedPadConv2D",
                         {tensor<float>({2, 1, 2, 1}, {1, 2, 3, 4}), paddings, filter}, {}, attrs)),
      (std::vector<float>{12, 21, 34, 43}));
  EXPECT_EQ(
      values<float>(run1("FusedResizeAndPadConv2D",
                         {tensor<float>({1, 1, 1, 1}, {3}), vec<int32_t>({1, 2}), paddings, filter},
                         {}, attrs)),
      (std::vector<float>{33, 33}));
}

} // namespace
} // namespace treadle
