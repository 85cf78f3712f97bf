#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

using Floats = std::vector<float>;
const float infinity = std::numeric_limits<float>::infinity();
const float notANumber = std::numeric_limits<float>::quiet_NaN();

TEST(Activation, ClipsThePartsOfComplexNumbers) {
  Tensor clipped = run1("ClipByValue", {vec<Complex64>({{1, 1}, {5, -3}, {-2, 7}}),
                                        scalar(Complex64(3, -.5f)), scalar(Complex64(3, .5f))});
  EXPECT_EQ(values<Complex64>(clipped), (std::vector<Complex64>{{3, .5f}, {3, -.5f}, {3, .5f}}));
}

TEST(Activation, ClipsAndKeepsNan) {
  Tensor x = vec<float>({-2, 0, 7, notANumber});
  Tensor relu = run1("Relu", {x});
  EXPECT_EQ(values<float>(relu).at(0), 0);
  EXPECT_EQ(values<float>(relu).at(2), 7);
  EXPECT_TRUE(std::isnan(values<float>(relu).at(3)));
  EXPECT_EQ(values<float>(run1("Relu6", {x})).at(2), 6);
  EXPECT_EQ(values<int32_t>(run1("Relu", {vec<int32_t>({-3, 4})})), (std::vector<int32_t>{0, 4}));
  AttrMap attrs;
  attrs.set("alpha", 0.5f);
  EXPECT_EQ(values<float>(run1("LeakyRelu", {vec<float>({-2, 3})}, DType::Float32, attrs)),
            (Floats{-1, 3}));
}

TEST(Activation, SmoothOnes) {
  Tensor x = vec<float>({-1, 0, 100});
  expectNear<float>(run1("Elu", {x}), {std::expm1(-1), 0, 100});
  expectNear<float>(run1("Softplus", {x}), {std::log1p(std::exp(-1)), std::log(2), 100});
  expectNear<float>(run1("Softsign", {x}), {-0.5, 0, 100.0 / 101});
  expectNear<float>(run1("Selu", {x}), {1.75809934 * std::expm1(-1), 0, 105.07009873}, 1e-5);
}

TEST(Activation, L2LossIsHalfTheSquares) {
  EXPECT_EQ(values<float>(run1("L2Loss", {vec<float>({3, 4})})), (Floats{12.5}));
  EXPECT_EQ(values<float>(run1("L2Loss", {vec<float>({})})), (Floats{0}));
}

TEST(Bias, AlongTheLastOrTheSecondDimension) {
  Tensor x = iota<int32_t>({1, 2, 2}, 0), bias = vec<int32_t>({10, 20});
  EXPECT_EQ(values<int32_t>(run1("BiasAdd", {x, bias})), (std::vector<int32_t>{10, 21, 12, 23}));
  AttrMap first;
  first.set("data_format", std::string("NCHW"));
  EXPECT_EQ(values<int32_t>(run1("BiasAdd", {x, bias}, DType::Int32, first)),
            (std::vector<int32_t>{10, 11, 22, 23}));
  EXPECT_EQ(values<int32_t>(run1("BiasAddGrad", {x})), (std::vector<int32_t>{2, 4}));
  EXPECT_EQ(values<int32_t>(run1("BiasAddGrad", {x}, DType::Int32, first)),
            (std::vector<int32_t>{1, 5}));
}

TEST(Bias, WrongSizes) {
  Tensor x = iota<float>({2, 3}, 0);
  EXPECT_EQ(errorClassOf("BiasAdd", {x, vec<float>({1, 2})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("BiasAdd", {x, scalar<float>(1)}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("BiasAdd", {vec<float>({1}), vec<float>({1})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("BiasAddGrad", {vec<float>({1})}), "InvalidArgumentError");
}

TEST(Softmax, RowsSumToOneEvenForLargeLogits) {
  Tensor x = tensor<float>({2, 2}, {1000, 1000, 0, std::log(3.0f)});
  expectNear<float>(run1("Softmax", {x}), {0.5, 0.5, 0.25, 0.75});
  expectNear<float>(run1("LogSoftmax", {x}),
                    {-std::log(2), -std::log(2), std::log(0.25), std::log(0.75)});
  EXPECT_EQ(run1("Softmax", {tensor<float>({3, 0}, {})}).count(), 0);
  EXPECT_EQ(errorClassOf("Softmax", {scalar<float>(1)}), "InvalidArgumentError");
}

TEST(CrossEntropy, LossAndGradient) {
  Tensor logits = tensor<float>({1, 2}, {0, std::log(3.0f)});
  auto out = runAll("SoftmaxCrossEntropyWithLogits", {logits, tensor<float>({1, 2}, {1, 0})},
                    {DType::Float32, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  expectNear<float>(out[0], {-std::log(0.25)});
  expectNear<float>(out[1], {-0.75, 0.75});
  auto sparse = runAll("SparseSoftmaxCrossEntropyWithLogits", {logits, vec<int64_t>({0})},
                       {DType::Float32, DType::Float32});
  ASSERT_EQ(sparse.size(), 2u);
  EXPECT_EQ(values<float>(sparse[0]), values<float>(out[0]));
  EXPECT_EQ(values<float>(sparse[1]), values<float>(out[1]));
}

TEST(CrossEntropy, NoLabelNoLoss) {
  auto out = runAll("SoftmaxCrossEntropyWithLogits",
                    {tensor<float>({1, 2}, {0, -infinity}), tensor<float>({1, 2}, {1, 0})},
                    {DType::Float32, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (Floats{0}));
}

TEST(CrossEntropy, WrongLabels) {
  Tensor logits = tensor<float>({1, 2}, {0, 1});
  std::vector<DType> types = {DType::Float32, DType::Float32};
  for (const Tensor &labels : {vec<int64_t>({2}), vec<int64_t>({-1}), vec<int64_t>({0, 1})})
    EXPECT_EQ(errorClassOf("SparseSoftmaxCrossEntropyWithLogits", {logits, labels}, types),
              "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("SoftmaxCrossEntropyWithLogits",
                         {logits, tensor<float>({1, 3}, {0, 1, 0})}, types),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
