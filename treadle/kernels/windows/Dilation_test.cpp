#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

AttrMap windowAttrs(std::string padding) {
  AttrMap attrs;
  attrs.set("strides", std::vector<int64_t>{1, 1, 1, 1});
  attrs.set("rates", std::vector<int64_t>{1, 1, 1, 1});
  attrs.set("ksize", std::vector<int64_t>{1, 1, 2, 1});
  attrs.set("padding", std::move(padding));
  return attrs;
}

TEST(Dilation, IsTheMaximumOfSums) {
  Tensor image = tensor<int32_t>({1, 1, 4, 1}, {1, 5, 2, 0}),
         filter = tensor<int32_t>({1, 2, 1}, {0, 4});
  EXPECT_EQ(values<int32_t>(run1("Dilation2D", {image, filter}, {}, windowAttrs("VALID"))),
            (std::vector<int32_t>{9, 6, 4}));
  EXPECT_EQ(values<int32_t>(run1("Dilation2D", {image, filter}, {}, windowAttrs("SAME"))),
            (std::vector<int32_t>{9, 6, 4, 0}));
  EXPECT_EQ(
      errorOf("Dilation2D", {image, tensor<int32_t>({1, 1, 2}, {0, 4})}, {}, windowAttrs("SAME")),
      "InvalidArgumentError: input must be of [batch,rows,columns,channels] and filter of "
      "[rows,columns,channels], but they are int32[1,1,4,1] and int32[1,1,2]");
}

TEST(Dilation, SumsOfIntegersWrapAround) {
  Tensor most = tensor<int32_t>({1, 1, 2, 1}, {INT32_MAX, INT32_MAX}),
         filter = tensor<int32_t>({1, 1, 1}, {1});
  EXPECT_EQ(values<int32_t>(run1("Dilation2D", {most, filter}, {}, windowAttrs("VALID"))),
            (std::vector<int32_t>{INT32_MIN, INT32_MIN}));
  EXPECT_EQ(values<int32_t>(
                run1("Dilation2DBackpropFilter", {most, filter, most}, {}, windowAttrs("VALID"))),
            std::vector<int32_t>{-2});
}

TEST(Dilation, GradientsFlowToTheMaxima) {
  Tensor image = tensor<int32_t>({1, 1, 4, 1}, {1, 5, 2, 0}),
         filter = tensor<int32_t>({1, 2, 1}, {0, 4});
  std::vector<Tensor> in = {image, filter, tensor<int32_t>({1, 1, 3, 1}, {10, 20, 30})};
  EXPECT_EQ(values<int32_t>(run1("Dilation2DBackpropInput", in, {}, windowAttrs("VALID"))),
            (std::vector<int32_t>{0, 10, 20, 30}));
  EXPECT_EQ(values<int32_t>(run1("Dilation2DBackpropFilter", in, {}, windowAttrs("VALID"))),
            (std::vector<int32_t>{0, 60}));
}

TEST(MaxPoolGradGrad, TakesWhatBelongsToTheMaxima) {
  Tensor image = tensor<float>({1, 1, 4, 1}, {1, 5, 2, 3}),
         result = tensor<float>({1, 1, 3, 1}, {5, 5, 3});
  EXPECT_EQ(values<float>(run1("MaxPoolGradGrad",
                               {image, result, tensor<float>({1, 1, 4, 1}, {10, 20, 30, 40})}, {},
                               windowAttrs("VALID"))),
            (std::vector<float>{20, 20, 40}));
}

TEST(ConvolutionGradients, TakeTensorsForTheirShapes) {
  Tensor image = tensor<float>({1, 1, 3, 1}, {1, 2, 3}),
         filter = tensor<float>({1, 2, 1, 1}, {1, 10});
  Tensor gradient = tensor<float>({1, 1, 2, 1}, {1, 2});
  std::vector<Tensor> in = {image, filter, gradient};
  EXPECT_EQ(values<float>(run1("Conv2DBackpropInputV2", in, {}, windowAttrs("VALID"))),
            (std::vector<float>{1, 12, 20}));
  EXPECT_EQ(values<float>(run1("Conv2DBackpropFilterV2", in, {}, windowAttrs("VALID"))),
            (std::vector<float>{5, 8}));
}

TEST(GlobalNormalization, ScalesEachChannel) {
  AttrMap attrs;
  attrs.set("variance_epsilon", 0.0f);
  attrs.set("scale_after_normalization", true);
  Tensor in = tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  std::vector<Tensor> vectors = {vec<float>({1, 2}), vec<float>({4, 1}), vec<float>({0, 5}),
                                 vec<float>({2, 3})};
  std::vector<Tensor> inputs = {in};
  inputs.insert(inputs.end(), vectors.begin(), vectors.end());
  expectNear<float>(run1("BatchNormWithGlobalNormalization", inputs, {}, attrs), {0, 5, 2, 11});
  std::vector<Tensor> out =
      runAll("BatchNormWithGlobalNormalizationGrad", {in, vectors[0], vectors[1], vectors[3], in},
             std::vector<DType>(5, DType::Float32), attrs);
  ASSERT_EQ(out.size(), 5u);
  expectNear<float>(out[0], {1, 6, 3, 12});
  expectNear<float>(out[1], {-4, -18});
  expectNear<float>(out[2], {-0.75, -12});
  expectNear<float>(out[3], {4, 6});
  expectNear<float>(out[4], {3, 8});
}

} // namespace
} // namespace treadle
