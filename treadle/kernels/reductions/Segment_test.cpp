#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

const Tensor matrix = tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});

TEST(Segment, SumsRowsOfOneIdAndFillsGaps) {
  Tensor sum = run1("SegmentSum", {matrix, vec<int32_t>({0, 0, 2})});
  EXPECT_EQ(dimsText(sum.dims()), "[3,2]");
  EXPECT_EQ(values<float>(sum), (Floats{4, 6, 0, 0, 5, 6}));
  EXPECT_EQ(values<float>(run1("SegmentProd", {matrix, vec<int64_t>({1, 1, 1})})),
            (Floats{1, 1, 15, 48}));
  EXPECT_EQ(values<float>(run1("SegmentMax", {matrix, vec<int32_t>({0, 0, 2})})),
            (Floats{3, 4, 0, 0, 5, 6}));
}

TEST(Segment, MeanOfIntegersTruncates) {
  EXPECT_EQ(
      values<int32_t>(run1("SegmentMean", {vec<int32_t>({1, 2, 7}), vec<int32_t>({0, 0, 1})})),
      (Ints{1, 7}));
}

TEST(Segment, MeanOfMoreRowsThanTheDTypeCounts) {
  Tensor data = *Tensor::make(DType::Int8, {256}), ids = *Tensor::make(DType::Int32, {256});
  std::fill_n(data.data<int8_t>(), 256, int8_t{0});
  std::fill_n(ids.data<int32_t>(), 256, 0);
  EXPECT_EQ(values<int8_t>(run1("SegmentMean", {data, ids})), std::vector<int8_t>{0});
}

TEST(Segment, NothingGivesNothing) {
  Tensor sum = run1("SegmentSum", {tensor<float>({0, 2}, {}), vec<int32_t>({})});
  EXPECT_EQ(dimsText(sum.dims()), "[0,2]");
}

TEST(Segment, WrongIds) {
  for (const Tensor &ids : {vec<int32_t>({0, 2, 1}), vec<int32_t>({-1, 0, 1}), vec<int32_t>({0, 1}),
                            tensor<int32_t>({3, 1}, {0, 0, 0})})
    EXPECT_EQ(errorClassOf("SegmentSum", {matrix, ids}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("SegmentSum", {scalar<float>(1), vec<int32_t>({0})}),
            "InvalidArgumentError");
  EXPECT_NE(errorOf("SegmentSum", {matrix, vec<int64_t>({0, 1, INT64_MAX})}), "");
  EXPECT_NE(
      errorOf("SparseSegmentSum", {matrix, vec<int32_t>({0, 1}), vec<int64_t>({0, INT64_MAX})}),
      "");
}

TEST(UnsortedSegment, IdsOfAnyRankAndNegativeOnesDropped) {
  Tensor ids = tensor<int32_t>({3, 2}, {0, 1, -1, 1, 0, 0});
  EXPECT_EQ(values<float>(run1("UnsortedSegmentSum", {matrix, ids, scalar<int32_t>(3)})),
            (Floats{12, 6, 0}));
  EXPECT_EQ(values<float>(run1("UnsortedSegmentProd", {matrix, ids, scalar<int64_t>(3)})),
            (Floats{30, 8, 1}));
  EXPECT_EQ(values<int32_t>(run1("UnsortedSegmentMax",
                                 {vec<int32_t>({5}), vec<int32_t>({0}), scalar<int32_t>(2)})),
            (Ints{5, std::numeric_limits<int32_t>::lowest()}));
}

TEST(UnsortedSegment, IdsBeyondTheCount) {
  EXPECT_EQ(
      errorClassOf("UnsortedSegmentSum", {matrix, vec<int32_t>({0, 1, 2}), scalar<int32_t>(2)}),
      "InvalidArgumentError");
  EXPECT_EQ(
      errorClassOf("UnsortedSegmentSum", {matrix, vec<int32_t>({0, 1, 2}), scalar<int32_t>(-2)}),
      "InvalidArgumentError");
}

TEST(SparseSegment, CombinesChosenRows) {
  std::vector<Tensor> in = {matrix, vec<int32_t>({2, 0, 1}), vec<int32_t>({0, 0, 2})};
  EXPECT_EQ(values<float>(run1("SparseSegmentSum", in)), (Floats{6, 8, 0, 0, 3, 4}));
  EXPECT_EQ(values<float>(run1("SparseSegmentMean", in)), (Floats{3, 4, 0, 0, 3, 4}));
  expectNear<float>(run1("SparseSegmentSqrtN", in),
                    {6 / std::sqrt(2.0), 8 / std::sqrt(2.0), 0, 0, 3, 4}, 1e-5);
  in.push_back(scalar<int32_t>(4));
  EXPECT_EQ(values<float>(run1("SparseSegmentSumWithNumSegments", in)),
            (Floats{6, 8, 0, 0, 3, 4, 0, 0}));
  in[3] = scalar<int32_t>(2);
  EXPECT_EQ(errorClassOf("SparseSegmentSumWithNumSegments", in), "InvalidArgumentError");
}

TEST(SparseSegment, GradientsGoBackToTheRows) {
  std::vector<Tensor> in = {vec<float>({1, 2}), vec<int32_t>({3, 1, 3}), vec<int32_t>({0, 1, 1}),
                            scalar<int32_t>(4)};
  EXPECT_EQ(values<float>(run1("SparseSegmentSumGrad", in)), (Floats{0, 2, 0, 3}));
  EXPECT_EQ(values<float>(run1("SparseSegmentMeanGrad", in)), (Floats{0, 1, 0, 2}));
  auto out = runAll("SparseSegmentMeanGradV2", in, {DType::Float32, DType::Int32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (Floats{1, 2}));
  EXPECT_EQ(values<int32_t>(out[1]), (Ints{1, 3}));
  in[3] = scalar<int32_t>(3);
  EXPECT_EQ(errorClassOf("SparseSegmentSumGrad", in), "InvalidArgumentError");
}

TEST(Segment, NaNPropagates) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor rows = tensor<float>({4}, {1, nan, nan, 2}), zeros = tensor<float>({2}, {0, 0});
  Tensor ids = vec<int32_t>({0, 0, 1, 1}), places = tensor<int32_t>({4, 1}, {0, 0, 1, 1});
  for (const char *op : {"UnsortedSegmentMax", "UnsortedSegmentMin"})
    for (float x : values<float>(run1(op, {rows, ids, scalar<int32_t>(2)})))
      EXPECT_TRUE(std::isnan(x)) << op;
  for (const char *op : {"TensorScatterMax", "TensorScatterMin"})
    for (float x : values<float>(run1(op, {zeros, places, rows})))
      EXPECT_TRUE(std::isnan(x)) << op;
}

} // namespace
} // namespace treadle
