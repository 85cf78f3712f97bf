// Tests of ops on sparse tensors.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Longs = std::vector<int64_t>;

Tensor index(std::vector<int64_t> dims, Longs elements) { return tensor<int64_t>(dims, elements); }

TEST(SparseOpsTest, Reorder) {
  std::vector<Tensor> out =
      runAll("SparseReorder",
             {index({3, 2}, {1, 0, 0, 1, 0, 0}), vec<float>({1, 2, 3}), vec<int64_t>({2, 2})},
             {DType::Int64, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{3, 2, 1}));
  EXPECT_EQ(errorClassOf("SparseReorder",
                         {index({1, 2}, {0, 0}), vec<float>({1, 2}), vec<int64_t>({2, 2})},
                         {DType::Int64, DType::Float32}),
            "InvalidArgumentError");
}

TEST(SparseOpsTest, EntriesOfTwoTensors) {
  std::vector<Tensor> inputs = {index({2, 2}, {0, 1, 1, 0}), vec<float>({1, -2}),
                                vec<int64_t>({2, 2}),        index({2, 2}, {0, 0, 1, 0}),
                                vec<float>({0.5, 1.5}),      vec<int64_t>({2, 2})};
  std::vector<Tensor> out = runAll("SparseSparseMaximum", inputs, {DType::Int64, DType::Float32});
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{0.5, 1, 1.5}));
  out = runAll("SparseSparseMinimum", inputs, {DType::Int64, DType::Float32});
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{0, 0, -2}));

  std::vector<DType> types = {DType::Int64, DType::Float32, DType::Int64};
  inputs.push_back(scalar<float>(0.75));
  out = runAll("SparseAdd", inputs, types);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 1})); // values below the threshold are dropped
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{1}));
  EXPECT_EQ(values<int64_t>(out[2]), (Longs{2, 2}));
  inputs[5] = vec<int64_t>({2, 3});
  EXPECT_EQ(errorClassOf("SparseAdd", inputs, types), "InvalidArgumentError");
}

TEST(SparseOpsTest, Reshape) {
  auto reshape = [](Longs shape, Longs asked) {
    return std::vector<Tensor>{index({2, 2}, {0, 1, 1, 2}), vec<int64_t>(shape),
                               vec<int64_t>(asked)};
  };
  std::vector<DType> types = {DType::Int64, DType::Int64};
  std::vector<Tensor> out = runAll("SparseReshape", reshape({2, 3}, {3, -1}), types);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 1, 2, 1}));
  EXPECT_EQ(values<int64_t>(out[1]), (Longs{3, 2}));
  for (const Longs &asked :
       {Longs{-1, -1}, Longs{4, -1}, Longs{7}, Longs{0, -1}, Longs{INT64_MAX, 8}})
    EXPECT_EQ(errorClassOf("SparseReshape", reshape({2, 3}, asked), types), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("SparseReshape", reshape({0, 3}, {0}), types), "InvalidArgumentError");
}

TEST(SparseOpsTest, FillEmptyRows) {
  std::vector<DType> types = {DType::Int64, DType::String, DType::Bool, DType::Int64};
  std::vector<Tensor> out = runAll("SparseFillEmptyRows",
                                   {index({2, 2}, {2, 1, 0, 3}), vec<std::string>({"a", "b"}),
                                    vec<int64_t>({3, 4}), scalar<std::string>("-")},
                                   types);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 3, 1, 0, 2, 1}));
  EXPECT_EQ(values<std::string>(out[1]), (std::vector<std::string>{"b", "-", "a"}));
  EXPECT_EQ(values<bool>(out[2]), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(values<int64_t>(out[3]), (Longs{2, 0}));
  EXPECT_EQ(errorClassOf("SparseFillEmptyRows",
                         {index({1, 2}, {3, 0}), vec<std::string>({"a"}), vec<int64_t>({3, 4}),
                          scalar<std::string>("-")},
                         types),
            "InvalidArgumentError");
  out = runAll("SparseFillEmptyRowsGrad", {vec<int64_t>({2, 0}), vec<float>({1, 2, 4})},
               {DType::Float32, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (std::vector<float>{4, 1}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{2}));
}

TEST(SparseOpsTest, ConcatAndSplit) {
  AttrMap attrs;
  attrs.set("concat_dim", int64_t{-1});
  Tensor at = index({2, 2}, {0, 0, 1, 1}), shape = vec<int64_t>({2, 2});
  std::vector<DType> types = {DType::Int64, DType::Int32, DType::Int64};
  std::vector<Tensor> out =
      runAll("SparseConcat", {at, at, vec<int32_t>({1, 2}), vec<int32_t>({3, 4}), shape, shape},
             types, attrs);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 0, 0, 2, 1, 1, 1, 3}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{1, 3, 2, 4}));
  EXPECT_EQ(values<int64_t>(out[2]), (Longs{2, 4}));
  attrs.set("num_split", int64_t{2});
  std::vector<Tensor> parts = runAll(
      "SparseSplit", {scalar<int64_t>(1), out[0], out[1], out[2]},
      {DType::Int64, DType::Int64, DType::Int32, DType::Int32, DType::Int64, DType::Int64}, attrs);
  ASSERT_EQ(parts.size(), 6u);
  EXPECT_EQ(values<int64_t>(parts[1]), (Longs{0, 0, 1, 1}));
  EXPECT_EQ(values<int32_t>(parts[3]), (std::vector<int32_t>{3, 4}));
}

TEST(SparseOpsTest, MatMul) {
  Tensor b = iota<float>({2, 2}, 1);
  std::vector<Tensor> inputs = {index({2, 2}, {0, 1, 2, 0}), vec<float>({2, 3}),
                                vec<int64_t>({3, 2}), b};
  EXPECT_EQ(values<float>(run1("SparseTensorDenseMatMul", inputs, DType::Float32)),
            (std::vector<float>{6, 8, 0, 0, 3, 6}));
  inputs[0] = index({2, 2}, {0, 1, 3, 0});
  EXPECT_EQ(errorClassOf("SparseTensorDenseMatMul", inputs, {DType::Float32}),
            "InvalidArgumentError");
}

TEST(SparseOpsTest, Reductions) {
  std::vector<Tensor> inputs = {index({3, 2}, {0, 0, 0, 1, 2, 1}), vec<float>({1, -5, -4}),
                                vec<int64_t>({3, 2}), vec<int32_t>({1})};
  EXPECT_EQ(values<float>(run1("SparseReduceSum", inputs, DType::Float32)),
            (std::vector<float>{-4, 0, -4}));
  EXPECT_EQ(values<float>(run1("SparseReduceMax", inputs, DType::Float32)),
            (std::vector<float>{1, 0, -4}));
  inputs[3] = vec<int32_t>({2});
  EXPECT_EQ(errorClassOf("SparseReduceSum", inputs, {DType::Float32}), "InvalidArgumentError");
}

TEST(SparseOpsTest, IntegersWrapAround) {
  Tensor one = index({1, 1}, {0}), shape = vec<int64_t>({1}), most = vec<int32_t>({INT32_MAX}),
         least = vec<int32_t>({INT32_MIN}), few = vec<uint16_t>({65535});
  auto sum = runAll("SparseAdd", {one, most, shape, one, vec<int32_t>({1}), shape, scalar(0)},
                    {DType::Int64, DType::Int32, DType::Int64});
  ASSERT_EQ(sum.size(), 3u);
  EXPECT_EQ(values<int32_t>(sum[1]), std::vector<int32_t>{}); // |INT32_MIN| is below the threshold
  EXPECT_EQ(values<int32_t>(run1("SparseTensorDenseAdd", {one, most, shape, most}, DType::Int32)),
            std::vector<int32_t>{-2});
  EXPECT_EQ(values<uint16_t>(run1("SparseDenseCwiseMul", {one, few, shape, few}, DType::UInt16)),
            std::vector<uint16_t>{1});
  EXPECT_EQ(values<int32_t>(run1("SparseDenseCwiseAdd", {one, least, shape, least}, DType::Int32)),
            std::vector<int32_t>{0});
  EXPECT_EQ(values<int32_t>(run1("SparseReduceSum",
                                 {index({2, 1}, {0, 1}), vec<int32_t>({INT32_MAX, INT32_MAX}),
                                  vec<int64_t>({2}), vec<int32_t>({0})},
                                 DType::Int32)),
            std::vector<int32_t>{-2});
  auto rest = runAll("SparseFillEmptyRowsGrad",
                     {vec<int64_t>({0}), vec<int32_t>({1, INT32_MAX, INT32_MAX})},
                     {DType::Int32, DType::Int32});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(values<int32_t>(rest[1]), std::vector<int32_t>{-2});
  EXPECT_EQ(values<int32_t>(run1("SparseTensorDenseMatMul",
                                 {index({1, 2}, {0, 0}), most, vec<int64_t>({1, 1}),
                                  tensor<int32_t>({1, 1}, {INT32_MAX})},
                                 DType::Int32)),
            std::vector<int32_t>{1});
  EXPECT_EQ(
      values<float>(run1("SparseSliceGrad", {vec<float>({3}), index({1, 2}, {INT64_MIN, 0}),
                                             vec<int64_t>({INT64_MAX, 0}), index({1, 2}, {1, 0})})),
      std::vector<float>{0});
}

TEST(SparseOpsTest, DivisionByMinusOneOfTheLowestNumber) {
  EXPECT_EQ(values<int32_t>(run1("SparseDenseCwiseDiv",
                                 {index({1, 1}, {0}), vec<int32_t>({INT32_MIN}), vec<int64_t>({1}),
                                  vec<int32_t>({-1})},
                                 DType::Int32)),
            (std::vector<int32_t>{INT32_MIN}));
}

TEST(SparseOpsTest, RaggedRowsAreGathered) {
  std::vector<Tensor> inputs = {vec<int64_t>({0, 2, 2, 3}), vec<float>({1, 2, 3}),
                                vec<int32_t>({2, 0, 0})};
  std::vector<Tensor> out = runAll("RaggedGather", inputs, {DType::Int64, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 1, 3, 5}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{3, 1, 2, 1, 2}));
  inputs[2] = vec<int32_t>({3});
  EXPECT_EQ(errorClassOf("RaggedGather", inputs, {DType::Int64, DType::Float32}),
            "InvalidArgumentError");
}

TEST(SparseOpsTest, RaggedRange) {
  std::vector<DType> types = {DType::Int64, DType::Int32};
  std::vector<Tensor> out = runAll(
      "RaggedRange", {vec<int32_t>({0, 5}), vec<int32_t>({3, 0}), vec<int32_t>({2, -2})}, types);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 2, 5}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{0, 2, 5, 3, 1}));
  EXPECT_EQ(
      errorClassOf("RaggedRange", {vec<int32_t>({0}), vec<int32_t>({3}), vec<int32_t>({0})}, types),
      "InvalidArgumentError");
}

TEST(SparseOpsTest, RaggedToSparse) {
  std::vector<Tensor> out =
      runAll("RaggedTensorToSparse", {vec<int64_t>({0, 2, 2, 3}), vec<float>({1, 2, 3})},
             {DType::Int64, DType::Float32, DType::Int64});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(values<int64_t>(out[2]), (Longs{3, 2}));
}

TEST(SparseOpsTest, RaggedRowsFilled) {
  auto out =
      runAll("RaggedFillEmptyRows",
             {vec<int64_t>({2, 0, 2}), vec<float>({1, 2, 3}), scalar<int64_t>(4), scalar<float>(9)},
             {DType::Int64, DType::Float32, DType::Bool, DType::Int64});
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 1, 2, 2, 3}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{2, 9, 1, 3, 9}));
  EXPECT_EQ(values<int64_t>(out[3]), (Longs{2, 0, 3}));
}

TEST(SparseOpsTest, GradientsOfEntries) {
  auto out = runAll("SparseAddGrad",
                    {vec<float>({1, 2, 4}), index({2, 2}, {0, 0, 1, 0}),
                     index({2, 2}, {0, 1, 1, 1}), index({3, 2}, {0, 0, 0, 1, 1, 0})},
                    {DType::Float32, DType::Float32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (std::vector<float>{1, 4}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{2, 0})); // [1,1] fell below the threshold
  Tensor slice = run1("SparseSliceGrad", {vec<float>({3}), index({2, 2}, {0, 0, 1, 1}),
                                          vec<int64_t>({1, 1}), index({1, 2}, {0, 0})});
  EXPECT_EQ(values<float>(slice), (std::vector<float>{0, 3}));
}

TEST(SparseOpsTest, ProductWidensSmallFloats) {
  Tensor a = tensor<BFloat16>({1, 2}, {BFloat16(1.5f), BFloat16(2)}),
         b = tensor<float>({2, 1}, {2, 4});
  expectNear<float>(run1("SparseMatMul", {a, b}, DType::Float32), {11});
}

} // namespace
} // namespace treadle
