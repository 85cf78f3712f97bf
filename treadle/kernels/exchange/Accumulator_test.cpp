// Accumulators: means and sums, stale gradients, and ops that wait.
#include "treadle/kernels/exchange/Accumulator.h"

#include "treadle/kernels/Handles.h"
#include "treadle/testing/KernelTest.h"

#include <thread>

namespace treadle {
namespace {

Tensor accumulatorOf(AccumulatorTraits traits) {
  return makeHandle(makeRef<Accumulator>(std::move(traits)));
}

std::string apply(const Tensor &handle, int64_t step, Tensor gradient) {
  auto out = runOp(builtinKernels(), "ResourceAccumulatorApplyGradient", {},
                   {handle, scalar(step), std::move(gradient)}, {});
  return out ? "" : std::string(errorClass(out.error().code));
}

Tensor take(const Tensor &handle, int32_t required) {
  return run1("ResourceAccumulatorTakeGradient", {handle, scalar(required)}, DType::Float32);
}

int32_t countOf(const Tensor &handle) {
  return run1("ResourceAccumulatorNumAccumulated", {handle}, DType::Int32).scalarValue<int32_t>();
}

TEST(Accumulator, givesTheMean) {
  Tensor handle = accumulatorOf({.dtype = DType::Float32});
  Tensor first = vec<float>({1, 2});
  apply(handle, 0, first);
  apply(handle, 0, vec<float>({3, 6}));
  EXPECT_EQ(countOf(handle), 2);
  EXPECT_EQ(values<float>(take(handle, 2)), (std::vector<float>{2, 4}));
  EXPECT_EQ(countOf(handle), 0);
  EXPECT_EQ(values<float>(first), (std::vector<float>{1, 2})) << "a gradient itself was changed";
}

TEST(Accumulator, givesTheSum) {
  Tensor handle = accumulatorOf({.dtype = DType::Float32, .isMean = false});
  apply(handle, 0, scalar<float>(1));
  apply(handle, 0, scalar<float>(3));
  EXPECT_EQ(take(handle, 1).scalarValue<float>(), 4);
}

TEST(Accumulator, staleGradientsAreDropped) {
  Tensor handle = accumulatorOf({.dtype = DType::Float32});
  apply(handle, 0, scalar<float>(1));
  take(handle, 1); // the global step becomes 1
  EXPECT_EQ(apply(handle, 0, scalar<float>(1)), "");
  EXPECT_EQ(countOf(handle), 0);
  apply(handle, 1, scalar<float>(1));
  EXPECT_EQ(countOf(handle), 1);
  EXPECT_TRUE(runOp(builtinKernels(), "ResourceAccumulatorSetGlobalStep", {},
                    {handle, scalar<int64_t>(5)}, {}));
  apply(handle, 4, scalar<float>(1));
  EXPECT_EQ(countOf(handle), 1);
}

TEST(Accumulator, whoTakesWaitsForEnough) {
  Tensor handle = accumulatorOf({.dtype = DType::Float32});
  Tensor taken;
  std::thread taker([&] { taken = take(handle, 3); });
  for (float g : {1.0f, 2.0f, 6.0f})
    apply(handle, 0, scalar(g));
  taker.join();
  EXPECT_EQ(taken.scalarValue<float>(), 3);
}

TEST(Accumulator, whatDoesNotFit) {
  Tensor handle = accumulatorOf({.dtype = DType::Float32, .shape = PartialShape::ranked({-1, 2})});
  EXPECT_EQ(apply(handle, 0, vec<float>({1, 2})), "InvalidArgumentError");
  EXPECT_EQ(apply(handle, 0, iota<float>({1, 2}, 0)), "");
  EXPECT_EQ(apply(handle, 0, iota<float>({2, 2}, 0)), "InvalidArgumentError");
  EXPECT_EQ(apply(handle, 0, iota<double>({1, 2}, 0)), "InvalidArgumentError");
  EXPECT_EQ(countOf(handle), 1);
  EXPECT_EQ(errorClassOf("ResourceAccumulatorTakeGradient", {handle, scalar<int32_t>(0)},
                         {DType::Float32}),
            "InvalidArgumentError");
}

TEST(Accumulator, sparseMeansCountOccurrences) {
  Tensor handle = accumulatorOf({.dtype = DType::Float32, .isSparse = true});
  auto applySparse = [&](Tensor indices, Tensor rows) {
    return runOp(builtinKernels(), "SparseAccumulatorApplyGradient", {},
                 {handle, scalar<int64_t>(0), std::move(indices), std::move(rows),
                  vec<int64_t>({5, 2})},
                 {})
        .has_value();
  };
  EXPECT_TRUE(applySparse(vec<int64_t>({3, 1}), iota<float>({2, 2}, 1)));
  EXPECT_TRUE(applySparse(vec<int64_t>({3}), iota<float>({1, 2}, 5)));
  EXPECT_FALSE(applySparse(vec<int64_t>({5}), iota<float>({1, 2}, 5)));
  EXPECT_FALSE(applySparse(vec<int64_t>({0}), iota<float>({1, 3}, 5)));
  auto out = runAll("SparseAccumulatorTakeGradient", {handle, scalar<int32_t>(2)},
                    {DType::Int64, DType::Float32, DType::Int64});
  EXPECT_EQ(values<int64_t>(out.at(0)), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(values<float>(out.at(1)), (std::vector<float>{3, 4, 3, 4}));
  EXPECT_EQ(values<int64_t>(out.at(2)), (std::vector<int64_t>{5, 2}));
}

} // namespace
} // namespace treadle
