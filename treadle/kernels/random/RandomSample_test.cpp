// Expected numbers are those that TensorFlow 2.21 draws from the same seeds.
#include "treadle/kernels/Handles.h"
#include "treadle/runtime/Variable.h"
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

const Tensor seed = vec<int64_t>({1, 2});

AttrMap seeds() {
  AttrMap attrs;
  attrs.set("seed", int64_t{12});
  attrs.set("seed2", int64_t{34});
  return attrs;
}

TEST(RandomSample, Gamma) {
  expectNear<double>(run1("StatelessRandomGammaV2",
                          {vec<int32_t>({2, 3}), seed, vec<double>({.5, 1, 8})}, DType::Float64),
                     {0.06695361383821083, 2.2487352006448047, 8.87431507945165, 0.62823544551181,
                      1.89350913788573, 7.291515806502722},
                     1e-12);
  EXPECT_EQ(errorClassOf("StatelessRandomGammaV2",
                         {vec<int32_t>({3, 2}), seed, vec<double>({.5, 1, 8})}, {DType::Float64}),
            "InvalidArgumentError");
}

TEST(RandomSample, Poisson) {
  EXPECT_EQ(values<int32_t>(run1("StatelessRandomPoisson",
                                 {vec<int32_t>({3, 2}), seed, vec<double>({2, 40})}, DType::Int32)),
            (std::vector<int32_t>{3, 57, 4, 34, 3, 45}));
  EXPECT_EQ(values<int32_t>(run1("RandomPoissonV2", {vec<int32_t>({4}), scalar<float>(3)},
                                 DType::Int32, seeds())),
            (std::vector<int32_t>{2, 0, 3, 2}));
}

TEST(RandomSample, NaNSampleIsCastToInteger) {
  Tensor nan = vec<double>({std::nan("")}), shape = vec<int32_t>({1}), half = scalar<double>(.5);
  Tensor counts = vec<double>({HUGE_VAL});
  EXPECT_EQ(values<int64_t>(run1("StatelessRandomPoisson", {shape, seed, nan}, DType::Int64)),
            std::vector<int64_t>{INT64_MIN});
  EXPECT_EQ(
      values<int32_t>(run1("StatelessRandomBinomial", {shape, seed, counts, half}, DType::Int32)),
      std::vector<int32_t>{INT32_MIN});
}

TEST(RandomSample, Binomial) {
  EXPECT_EQ(values<int32_t>(
                run1("StatelessRandomBinomial",
                     {vec<int32_t>({3, 3}), seed, vec<double>({20, 60, 5}), scalar<double>(.7)},
                     DType::Int32)),
            (std::vector<int32_t>{10, 33, 2, 11, 45, 5, 11, 39, 4}));
}

TEST(RandomSample, Multinomial) {
  EXPECT_EQ(
      values<int32_t>(run1("StatelessMultinomial",
                           {tensor<double>({2, 3}, {std::log(.5), std::log(.2), std::log(.3),
                                                    std::log(.1), std::log(.1), std::log(.8)}),
                            scalar<int32_t>(6), seed},
                           DType::Int32)),
      (std::vector<int32_t>{2, 2, 0, 2, 1, 1, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(errorClassOf("StatelessMultinomial",
                         {tensor<double>({2, 0}, {}), scalar<int32_t>(6), seed}, {DType::Int32}),
            "InvalidArgumentError");
}

// Each column uses another method: normal with rejection, above a bound, in a narrow band.
TEST(RandomSample, NormalBetweenBounds) {
  expectNear<float>(run1("StatelessParameterizedTruncatedNormal",
                         {vec<int32_t>({2, 3}), seed, scalar<float>(0), scalar<float>(1),
                          vec<float>({-1, 2, .1f}), vec<float>({2, 9, .2f})},
                         DType::Float32),
                    {0.544110119342804, 2.539301633834839, 0.14393514394760132, 0.20738030970096588,
                     2.9259519577026367, 0.10847681760787964});
  std::vector<Tensor> in = {vec<int32_t>({4}), scalar<float>(1), scalar<float>(1), scalar<float>(0),
                            scalar<float>(5)};
  expectNear<float>(
      run1("ParameterizedTruncatedNormal", in, DType::Float32, seeds()),
      {0.8543840050697327, 1.7108087539672852, 0.41972625255584717, 3.282346248626709});
  std::swap(in[3], in[4]);
  EXPECT_EQ(errorClassOf("ParameterizedTruncatedNormal", in, {DType::Float32}),
            "InvalidArgumentError");
}

TEST(RandomSample, OrdersByKeyAndBySeed) {
  EXPECT_EQ(values<int32_t>(run1("StatelessShuffle", {iota<int32_t>({6}, 0), vec<uint64_t>({7}),
                                                      vec<uint64_t>({7, 8}), scalar<int32_t>(1)})),
            (std::vector<int32_t>{5, 0, 4, 2, 3, 1}));
  EXPECT_EQ(
      values<int64_t>(run1("RandomIndexShuffle",
                           {iota<int64_t>({10}, 0), vec<int32_t>({1, 2, 3}), scalar<int64_t>(9)})),
      (std::vector<int64_t>{2, 0, 6, 4, 8, 1, 7, 9, 5, 3}));
  EXPECT_EQ(errorClassOf("RandomIndexShuffle",
                         {scalar<int64_t>(10), vec<int32_t>({1, 2, 3}), scalar<int64_t>(9)}),
            "InvalidArgumentError");
}

TEST(StatefulRandom, MovesTheStateOn) {
  auto variable = makeRef<Variable>("state", DType::Int64);
  variable->assign(vec<int64_t>({5, 6, 7}));
  Tensor handle = makeHandle(variable);
  expectNear<float>(
      run1("StatefulUniform", {handle, scalar<int64_t>(1), vec<int64_t>({3})}, DType::Float32),
      {0.21270084381103516, 0.8693289756774902, 0.6846399307250977});
  EXPECT_EQ(values<int64_t>(variable->read()), (std::vector<int64_t>{773, 6, 7}));
  Tensor before =
      run1("RngReadAndSkip", {handle, scalar<int32_t>(1), scalar<uint64_t>(3)}, DType::Int64);
  EXPECT_EQ(values<int64_t>(before), (std::vector<int64_t>{773, 6, 7}));
  EXPECT_EQ(values<int64_t>(variable->read()), (std::vector<int64_t>{1541, 6, 7}));
  EXPECT_EQ(errorClassOf("StatefulUniform", {handle, scalar<int64_t>(2), vec<int64_t>({3})},
                         {DType::Float32}),
            "UnimplementedError");
  variable->assign(vec<int64_t>({5, 6}));
  EXPECT_EQ(errorClassOf("StatefulUniform", {handle, scalar<int64_t>(1), vec<int64_t>({3})},
                         {DType::Float32}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
