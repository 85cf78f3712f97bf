#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

TEST(Selection, NthElement) {
  Tensor in = tensor<int32_t>({2, 4}, {4, 1, 3, 2, 9, 9, 7, 8});
  EXPECT_EQ(values<int32_t>(run1("NthElement", {in, scalar<int32_t>(1)})),
            (std::vector<int32_t>{2, 8}));
  AttrMap reverse;
  reverse.set("reverse", true);
  EXPECT_EQ(values<int32_t>(run1("NthElement", {in, scalar<int32_t>(1)}, DType::Int32, reverse)),
            (std::vector<int32_t>{3, 9}));
  EXPECT_EQ(errorClassOf("NthElement", {in, scalar<int32_t>(4)}), "InvalidArgumentError");
}

TEST(Selection, ApproxTopKAlongAnyDimension) {
  AttrMap attrs;
  attrs.set("k", int64_t{1});
  attrs.set("reduction_dimension", int64_t{0});
  auto out = runAll("ApproxTopK", {tensor<float>({2, 3}, {4, 1, 3, 2, 9, 9})},
                    {DType::Float32, DType::Int32}, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (std::vector<float>{4, 9, 9}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{0, 1, 1}));
}

TEST(Selection, NaNComesLast) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor in = vec<float>({nan, 2, nan, 3, nan, 1, nan});
  EXPECT_EQ(values<float>(run1("NthElement", {in, scalar<int32_t>(2)})), (std::vector<float>{3}));
  AttrMap attrs;
  attrs.set("k", int64_t{3});
  auto out = runAll("ApproxTopK", {in}, {DType::Float32, DType::Int32}, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (std::vector<float>{3, 2, 1}));
}

TEST(Selection, NearestNeighbors) {
  auto out = runAll("NearestNeighbors",
                    {tensor<float>({1, 2}, {1, 1}), tensor<float>({3, 2}, {5, 5, 0, 0, 1, 3}),
                     scalar<int64_t>(2)},
                    {DType::Int64, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int64_t>(out[0]), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{2, 4}));
}

TEST(Selection, FallingSequences) {
  auto out = runAll("IsotonicRegression", {tensor<float>({1, 5}, {3, 1, 2, 2, 0})},
                    {DType::Float32, DType::Int32});
  ASSERT_EQ(out.size(), 2u);
  expectNear<float>(out[0], {3, 5.0 / 3, 5.0 / 3, 5.0 / 3, 0});
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{0, 1, 1, 1, 2}));
}

} // namespace
} // namespace treadle
