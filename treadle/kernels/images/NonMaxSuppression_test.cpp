#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

// The second box overlaps the first by nine tenths, the third doesn't overlap.
const Tensor boxes = tensor<float>({3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9f, 2, 2, 3, 3});
const Tensor scores = vec<float>({0.8f, 0.9f, 0.5f});

TEST(NonMaxSuppression, BestOfThoseThatOverlap) {
  Tensor two = scalar<int32_t>(2), half = scalar(0.5f);
  std::vector<int32_t> best = {1, 2};
  EXPECT_EQ(values<int32_t>(run1("NonMaxSuppression", {boxes, scores, two}, DType::Int32)), best);
  EXPECT_EQ(values<int32_t>(run1("NonMaxSuppressionV2", {boxes, scores, two, half}, DType::Int32)),
            best);
  EXPECT_EQ(values<int32_t>(
                run1("NonMaxSuppressionV2", {boxes, scores, two, scalar(0.95f)}, DType::Int32)),
            (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(values<int32_t>(run1("NonMaxSuppressionV3", {boxes, scores, two, half, scalar(0.6f)},
                                 DType::Int32)),
            (std::vector<int32_t>{1}));
}

TEST(NonMaxSuppression, PadsWhereAsked) {
  AttrMap attrs;
  attrs.set("pad_to_max_output_size", true);
  auto out =
      runAll("NonMaxSuppressionV4", {boxes, scores, scalar<int32_t>(4), scalar(0.5f), scalar(0.0f)},
             {DType::Int32, DType::Int32}, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{1, 2, 0, 0}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{2}));
}

TEST(NonMaxSuppression, SoftLowersScores) {
  auto out = runAll("NonMaxSuppressionV5",
                    {boxes, scores, scalar<int32_t>(3), scalar(0.5f), scalar(0.0f), scalar(0.5f)},
                    {DType::Int32, DType::Float32, DType::Int32});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{1, 2, 0}));
  expectNear<float>(out[1], {0.9, 0.5, 0.8 * std::exp(-0.81)}, 1e-5);
}

TEST(NonMaxSuppression, OverlapsAsGiven) {
  Tensor overlaps = tensor<float>({2, 2}, {1, 0.6f, 0.6f, 1});
  auto best = [&](float threshold) {
    return values<int32_t>(run1(
        "NonMaxSuppressionWithOverlaps",
        {overlaps, vec<float>({0.1f, 0.2f}), scalar<int32_t>(5), scalar(threshold), scalar(0.0f)},
        DType::Int32));
  };
  EXPECT_EQ(best(0.5f), (std::vector<int32_t>{1}));
  EXPECT_EQ(best(0.7f), (std::vector<int32_t>{1, 0}));
}

TEST(NonMaxSuppression, WrongInputs) {
  auto error = [&](Tensor b, Tensor s, int32_t size, float threshold) {
    return errorClassOf("NonMaxSuppressionV2", {b, s, scalar(size), scalar(threshold)},
                        {DType::Int32});
  };
  EXPECT_EQ(error(boxes, scores, -1, 0.5f), "InvalidArgumentError");
  EXPECT_EQ(error(boxes, scores, 1, 1.5f), "InvalidArgumentError");
  EXPECT_EQ(error(boxes, vec<float>({1}), 1, 0.5f), "InvalidArgumentError");
  EXPECT_EQ(error(scores, scores, 1, 0.5f), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
