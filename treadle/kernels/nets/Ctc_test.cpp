#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

Tensor logits() {
  return tensor<float>({3, 1, 3}, {0.5f, 1.0f, -0.5f, 0.0f, 2.0f, 0.3f, 1.0f, -1.0f, 0.2f});
}

AttrMap with(std::string_view name, AttrValue value) {
  AttrMap attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

// One label in three steps: all positions at which it can begin and end.
TEST(CtcLoss, SumsOverAllAlignments) {
  Tensor in = logits();
  std::vector<Tensor> out =
      runAll("CTCLoss", {in, tensor<int64_t>({1, 2}, {0, 0}), vec<int32_t>({1}), vec<int32_t>({3})},
             {DType::Float32, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  double label[3], blank[3];
  for (int t = 0; t < 3; ++t) {
    const float *x = in.data<float>() + 3 * t;
    double sum = std::exp(x[0]) + std::exp(x[1]) + std::exp(x[2]);
    label[t] = std::exp(x[1]) / sum, blank[t] = std::exp(x[2]) / sum;
  }
  double sum = 0;
  for (int first = 0; first < 3; ++first)
    for (int last = first; last < 3; ++last) {
      double product = 1;
      for (int t = 0; t < 3; ++t)
        product *= t >= first && t <= last ? label[t] : blank[t];
      sum += product;
    }
  EXPECT_NEAR(out[0].data<float>()[0], -std::log(sum), 1e-5);
  for (int t = 0; t < 3; ++t) // softmax minus a distribution
    EXPECT_NEAR(out[1].data<float>()[3 * t] + out[1].data<float>()[3 * t + 1] +
                    out[1].data<float>()[3 * t + 2],
                0, 1e-5);
}

TEST(CtcLoss, TooManyLabelsAreAnErrorUnlessIgnored) {
  std::vector<Tensor> inputs = {logits(), tensor<int64_t>({2, 2}, {0, 0, 0, 1}),
                                vec<int32_t>({1, 0}), vec<int32_t>({1})};
  std::vector<DType> types = {DType::Float32, DType::Float32};
  EXPECT_EQ(errorOf("CTCLoss", inputs, types),
            "InvalidArgumentError: row 0 of the batch has 2 labels for 1 steps; set "
            "ignore_longer_outputs_than_inputs to skip such rows");
  EXPECT_EQ(
      values<float>(
          runAll("CTCLoss", inputs, types, with("ignore_longer_outputs_than_inputs", true)).at(0)),
      (std::vector<float>{0}));
}

TEST(CtcDecode, GreedyTakesTheBestOfEachStep) {
  std::vector<Tensor> out = runAll("CTCGreedyDecoder", {logits(), vec<int32_t>({3})},
                                   {DType::Int64, DType::Int64, DType::Int64, DType::Float32},
                                   with("merge_repeated", true));
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(values<int64_t>(out[1]), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(values<int64_t>(out[2]), (std::vector<int64_t>{1, 2}));
  expectNear<float>(out[3], {-4});
}

// Graves, figure 7.5: the best path is blank, but the label is more likely in total.
TEST(CtcDecode, BeamSearchAddsUpAlignments) {
  Tensor in =
      tensor<double>({2, 1, 2}, {std::log(0.3), std::log(0.7), std::log(0.4), std::log(0.6)});
  AttrMap attrs = with("beam_width", int64_t{4});
  attrs.set("top_paths", int64_t{2});
  std::vector<DType> types(7, DType::Int64);
  types[6] = DType::Float64;
  std::vector<Tensor> out = runAll("CTCBeamSearchDecoder", {in, vec<int32_t>({2})}, types, attrs);
  ASSERT_EQ(out.size(), 7u);
  EXPECT_EQ(values<int64_t>(out[2]), (std::vector<int64_t>{0}));
  EXPECT_EQ(values<int64_t>(out[3]), (std::vector<int64_t>{}));
  expectNear<double>(out[6], {std::log(0.58), std::log(0.42)});
}

TEST(EditDistance, ComparesSequencesAndKnowsMissingOnes) {
  auto distances = [](bool normalizes) {
    return values<float>(run1("EditDistance",
                              {tensor<int64_t>({4, 2}, {0, 0, 0, 1, 0, 2, 1, 0}),
                               vec<std::string>({"a", "b", "c", "x"}), vec<int64_t>({3, 3}),
                               tensor<int64_t>({3, 2}, {0, 0, 0, 1, 2, 0}),
                               vec<std::string>({"a", "c", "y"}), vec<int64_t>({3, 2})},
                              DType::Float32, with("normalize", normalizes)));
  };
  EXPECT_EQ(distances(false), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(distances(true), (std::vector<float>{0.5f, std::numeric_limits<float>::infinity(), 1}));
}

} // namespace
} // namespace treadle
