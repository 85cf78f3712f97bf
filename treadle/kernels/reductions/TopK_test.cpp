#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

TEST(TopK, LargestFirstAndEqualOnesInOrder) {
  Tensor x = tensor<float>({2, 4}, {1, 5, 5, 3, 4, 3, 2, 1});
  auto out = runAll("TopKV2", {x, scalar<int32_t>(3)}, {DType::Float32, DType::Int32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (Floats{5, 5, 3, 4, 3, 2}));
  EXPECT_EQ(values<int32_t>(out[1]), (Ints{1, 2, 3, 0, 1, 2}));
}

// The order that TensorFlow's heap gives.
TEST(TopK, UnsortedIsTheOrderOfAHeap) {
  AttrMap unsorted;
  unsorted.set("sorted", false);
  auto indicesOf = [&](std::vector<float> x, int32_t k) {
    auto out =
        runAll("TopKV2", {vec(x), scalar<int32_t>(k)}, {DType::Float32, DType::Int32}, unsorted);
    return values<int32_t>(out[1]);
  };
  EXPECT_EQ(indicesOf({5, 1, 9, 3, 7, 2, 8, 6, 4, 0}, 4), (Ints{7, 4, 2, 6}));
  EXPECT_EQ(indicesOf({1, 1, 1, 1, 1, 1}, 3), (Ints{2, 1, 0}));
  EXPECT_EQ(indicesOf({3, 1, 2}, 1), (Ints{0}));
  EXPECT_EQ(indicesOf({3, 1, 2}, 3), (Ints{0, 2, 1}));
}

TEST(TopK, FewOfManyAreTheSameAsAllSorted) {
  std::vector<int64_t> x(1000);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<int64_t>(i * 7919 % 997);
  std::vector<DType> types = {DType::Int64, DType::Int32};
  auto few = runAll("TopKV2", {vec(x), scalar<int32_t>(5)}, types);
  auto all = runAll("TopKV2", {vec(x), scalar<int32_t>(1000)}, types);
  ASSERT_EQ(few.size() + all.size(), 4u);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(values<int32_t>(few[1])[i], values<int32_t>(all[1])[i]);
}

// As in PyTorch: NaN comes first among the largest, and last among the smallest.
TEST(TopK, PyTorchOpOrdersNaNAsTheLargest) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = vec<float>({2, nan, INFINITY, 2, nan, -1});
  std::vector<DType> types = {DType::Float32, DType::Int64};
  auto placesOf = [&](int32_t k, bool smallest) {
    AttrMap attrs;
    attrs.set("smallest", smallest);
    return values<int64_t>(runAll("_TopK", {x, scalar<int32_t>(k)}, types, attrs)[1]);
  };
  EXPECT_EQ(placesOf(6, false), (std::vector<int64_t>{1, 4, 2, 0, 3, 5}));
  EXPECT_EQ(placesOf(6, true), (std::vector<int64_t>{5, 0, 3, 2, 1, 4}));
  std::vector<float> many(100, 1.0F);
  many[70] = nan;
  many[80] = 3;
  x = vec(many);
  EXPECT_EQ(placesOf(3, false), (std::vector<int64_t>{70, 80, 0}));
  EXPECT_EQ(placesOf(2, true), (std::vector<int64_t>{0, 1}));
}

TEST(TopK, WrongK) {
  std::vector<DType> types = {DType::Float32, DType::Int32};
  for (int32_t k : {-1, 3})
    EXPECT_EQ(errorClassOf("TopKV2", {vec<float>({1, 2}), scalar<int32_t>(k)}, types),
              "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("TopKV2", {scalar<float>(1), scalar<int32_t>(0)}, types),
            "InvalidArgumentError");
}

TEST(InTopK, CountsWhatIsAboveTheTarget) {
  Tensor x = tensor<float>(
      {4, 3}, {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, std::numeric_limits<float>::infinity()});
  EXPECT_EQ(values<bool>(
                run1("InTopKV2", {x, vec<int32_t>({1, 0, 7, 1}), scalar<int32_t>(2)}, DType::Bool)),
            (std::vector<bool>{true, false, false, false}));
}

TEST(Cumulative, ForwardsBackwardsAndWithoutTheElementItself) {
  Tensor x = vec<int32_t>({1, 2, 3});
  auto run = [&](const char *op, bool exclusive, bool reverse) {
    AttrMap attrs;
    attrs.set("exclusive", exclusive);
    attrs.set("reverse", reverse);
    return values<int32_t>(run1(op, {x, scalar<int32_t>(-1)}, DType::Int32, attrs));
  };
  EXPECT_EQ(run("Cumsum", false, false), (Ints{1, 3, 6}));
  EXPECT_EQ(run("Cumsum", true, false), (Ints{0, 1, 3}));
  EXPECT_EQ(run("Cumsum", false, true), (Ints{6, 5, 3}));
  EXPECT_EQ(run("Cumsum", true, true), (Ints{5, 3, 0}));
  EXPECT_EQ(run("Cumprod", true, true), (Ints{6, 3, 1}));
}

TEST(Cumulative, AlongAnOuterAxis) {
  EXPECT_EQ(values<float>(run1("Cumsum", {iota<float>({2, 2, 2}, 0), scalar<int32_t>(1)})),
            (Floats{0, 1, 2, 4, 4, 5, 10, 12}));
  EXPECT_EQ(errorClassOf("Cumsum", {vec<float>({1}), scalar<int32_t>(1)}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Cumsum", {scalar<float>(1), scalar<int32_t>(0)}), "InvalidArgumentError");
}

TEST(Cumulative, LogsumexpKeepsInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  Tensor t = run1("CumulativeLogsumexp", {vec<float>({-inf, -inf, 0, 0, inf}), scalar<int32_t>(0)});
  EXPECT_EQ(values<float>(t).at(1), -inf);
  EXPECT_NEAR(values<float>(t).at(3), std::log(2.0f), 1e-6);
  EXPECT_EQ(values<float>(t).at(4), inf);
}

TEST(Bincount, RowsWeightsAndPresence) {
  Tensor x = tensor<int32_t>({2, 3}, {1, 2, 2, 2, 3, 9});
  AttrMap binary;
  binary.set("binary_output", true);
  Tensor size = scalar<int32_t>(4), ones = vec<int32_t>({});
  EXPECT_EQ(values<int32_t>(run1("Bincount", {x, size, ones})), (Ints{0, 1, 3, 1}));
  EXPECT_EQ(values<int32_t>(run1("DenseBincount", {x, size, ones})),
            (Ints{0, 1, 2, 0, 0, 0, 1, 1}));
  EXPECT_EQ(values<int32_t>(run1("DenseBincount", {x, size, ones}, DType::Int32, binary)),
            (Ints{0, 1, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(values<float>(run1("DenseBincount", {vec<int32_t>({1, 1}), size, vec<float>({0.5, 2})},
                               DType::Float32)),
            (Floats{0, 2.5, 0, 0}));
}

TEST(Bincount, SparseAndRagged) {
  Tensor indices = tensor<int64_t>({3, 2}, {0, 1, 1, 0, 1, 2}), x = vec<int32_t>({1, 2, 2});
  Tensor size = scalar<int32_t>(3), ones = vec<int32_t>({});
  EXPECT_EQ(values<int32_t>(run1("SparseBincount", {indices, x, vec<int64_t>({2, 3}), size, ones},
                                 DType::Int32)),
            (Ints{0, 1, 0, 0, 0, 2}));
  EXPECT_EQ(values<int32_t>(
                run1("RaggedBincount", {vec<int64_t>({0, 1, 3}), x, size, ones}, DType::Int32)),
            (Ints{0, 1, 0, 0, 0, 2}));
  EXPECT_EQ(errorClassOf("SparseBincount", {indices, x, vec<int64_t>({2, 2}), size, ones},
                         {DType::Int32}),
            "InvalidArgumentError");
}

TEST(Bincount, WrongInputs) {
  Tensor x = vec<int32_t>({1, 2}), ones = vec<int32_t>({});
  EXPECT_EQ(errorClassOf("Bincount", {vec<int32_t>({-1}), scalar<int32_t>(3), ones}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Bincount", {x, scalar<int32_t>(-3), ones}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Bincount", {x, scalar<int32_t>(3), vec<int32_t>({1})}),
            "InvalidArgumentError");
}

TEST(Bucketize, IntegersMeetFractions) {
  AttrMap attrs;
  attrs.set("boundaries", std::vector<float>{0, 2.5, 10});
  EXPECT_EQ(
      values<int32_t>(run1("Bucketize", {vec<int32_t>({-1, 0, 2, 3, 10})}, DType::Int32, attrs)),
      (Ints{0, 1, 1, 2, 3}));
}

} // namespace
} // namespace treadle
