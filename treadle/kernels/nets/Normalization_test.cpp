#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

TEST(Lrn, DividesByItsNeighbours) {
  AttrMap attrs;
  attrs.set("depth_radius", int64_t{1});
  attrs.set("bias", 1.0f);
  attrs.set("alpha", 1.0f);
  attrs.set("beta", 1.0f);
  Tensor x = tensor<float>({1, 1, 1, 3}, {1, 2, 3});
  expectNear<float>(run1("LRN", {x}, DType::Float32, attrs), {1.0 / 6, 2.0 / 15, 3.0 / 14});
  EXPECT_EQ(errorClassOf("LRN", {vec<float>({1})}, {}, attrs), "InvalidArgumentError");
  attrs.set("depth_radius", std::numeric_limits<int64_t>::min());
  EXPECT_EQ(errorClassOf("LRN", {x}, {}, attrs), "InvalidArgumentError");
}

TEST(FusedBatchNorm, TrainingNormalisesTheBatch) {
  AttrMap attrs;
  attrs.set("epsilon", 0.0f);
  Tensor x = tensor<float>({2, 1, 1, 1}, {1, 3}), one = vec<float>({1}), two = vec<float>({2});
  Tensor none = vec<float>({});
  auto out = runAll("FusedBatchNormV3", {x, two, one, none, none},
                    std::vector<DType>(6, DType::Float32), attrs);
  ASSERT_EQ(out.size(), 6u);
  expectNear<float>(out[0], {-1, 3});
  expectNear<float>(out[1], {2}); // mean
  expectNear<float>(out[2], {2}); // variance, unbiased
  expectNear<float>(out[4], {1}); // for the gradient op
  auto gradient = runAll("FusedBatchNormGradV3", {x, x, two, out[3], out[4], none},
                         std::vector<DType>(5, DType::Float32), attrs);
  ASSERT_EQ(gradient.size(), 5u);
  expectNear<float>(gradient[0], {0, 0});
  expectNear<float>(gradient[1], {2});
  expectNear<float>(gradient[2], {4});
}

TEST(FusedBatchNorm, InferenceUsesWhatItIsGiven) {
  AttrMap attrs;
  attrs.set("is_training", false);
  attrs.set("epsilon", 0.0f);
  Tensor x = tensor<float>({1, 1, 1, 1}, {5}), one = vec<float>({1});
  auto out = runAll("FusedBatchNorm", {x, one, one, vec<float>({1}), vec<float>({4})},
                    std::vector<DType>(5, DType::Float32), attrs);
  ASSERT_EQ(out.size(), 5u);
  expectNear<float>(out[0], {3});
  EXPECT_EQ(errorClassOf("FusedBatchNorm", {x, one, one, vec<float>({}), one},
                         std::vector<DType>(5, DType::Float32), attrs),
            "InvalidArgumentError");
}

TEST(LstmBlockCell, OneStep) {
  AttrMap attrs;
  attrs.set("forget_bias", 1.0f);
  attrs.set("cell_clip", -1.0f);
  Tensor one = tensor<float>({1, 1}, {1}), peephole = vec<float>({0});
  Tensor w = tensor<float>({2, 4}, {1, 1, 1, 1, 0, 0, 0, 0}), b = vec<float>({0, 0, 0, 0});
  auto out = runAll("LSTMBlockCell", {one, one, one, w, peephole, peephole, peephole, b},
                    std::vector<DType>(7, DType::Float32), attrs);
  ASSERT_EQ(out.size(), 7u);
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  double cs = sigmoid(2) + sigmoid(1) * std::tanh(1);
  expectNear<float>(out[1], {cs});
  expectNear<float>(out[6], {sigmoid(1) * std::tanh(cs)});
  EXPECT_EQ(errorClassOf("LSTMBlockCell", {one, one, one, b, peephole, peephole, peephole, b},
                         std::vector<DType>(7, DType::Float32), attrs),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
